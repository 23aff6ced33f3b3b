#pragma once

#include <string>
#include <string_view>

namespace wafer::tokenizer {

/// Rewrites a pattern in Oniguruma's Ruby syntax, which tokenizer.json uses, for PCRE2 with UTF, UCP and
/// MULTILINE, so that both find the same matches: \s, \S, \w and \W become Unicode properties.
/// @param where names the pattern in messages
/// @throws InputError for a construct that the two read differently, by name
std::string to_pcre2(std::string_view pattern, const std::string& where);

}  // namespace wafer::tokenizer

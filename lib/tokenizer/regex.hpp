#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/field.hpp"

struct pcre2_real_code_8;

namespace wafer::tokenizer {

/// Bytes [begin, end) of a text, and whether a pattern matched them.
struct Span {
  std::size_t begin;
  std::size_t end;
  bool match;
};

/// A compiled pattern. Copyable, so that the components that hold one are values.
class Regex {
public:
  enum class Kind { pattern, literal };

  /// @param text Oniguruma syntax, or a text that stands for itself   @param where its name in messages
  /// @throws InputError for a pattern that does not compile or that to_pcre2 refuses
  Regex(std::string_view text, Kind kind, const std::string& where);
  Regex(const Regex& other);
  Regex(Regex&&) noexcept = default;
  Regex& operator=(Regex other) noexcept;
  ~Regex() = default;

  /// Cuts all of `text`, which is valid UTF-8, into matches and what lies between them.
  std::vector<Span> cover(std::string_view text) const;

  /// `text` with every match replaced.
  std::string replace(std::string_view text, std::string_view by) const;

private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::unique_ptr<pcre2_real_code_8, Free> code_;
};

/// The pattern {"String": "..."} or {"Regex": "..."}.
Regex read_pattern(const Field& field);

}  // namespace wafer::tokenizer

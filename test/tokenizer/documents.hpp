#pragma once

#include <string>
#include <vector>

#include "core/index.hpp"
#include "io/json.hpp"
#include "tokenizer/tokenizer.hpp"

namespace wafer::tokenizer {

using Ids = std::vector<Index>;

/// A small tokenizer.json: the letters a to e are 0 to 4, then "ab" 5, "abc" 6, "de" 7, "cd" 8, "<0xE2>" 9,
/// "<0x82>" 10, "<0xAC>" 11 (the three bytes of the euro sign), "_" 12, "\u0120" 13, "?" 14.
/// Merges in this order: a b, ab c, d e, c d.
inline io::Json small_document() {
  return io::parse_json(R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
    "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Fuse"},
    "model": {"type": "BPE",
      "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4, "ab": 5, "abc": 6, "de": 7, "cd": 8,
                "<0xE2>": 9, "<0x82>": 10, "<0xAC>": 11, "_": 12, "\u0120": 13, "?": 14},
      "merges": ["a b", "ab c", "d e", "c d"]}})",
                        "small");
}

inline io::Json json_of(const std::string& text) { return io::parse_json(text, "a test"); }

inline Tokenizer make(const io::Json& document) { return {io::to_text(document), "small.json"}; }

/// The small tokenizer with another part, e.g. with("decoder", R"({"type": "Fuse"})").
inline Tokenizer with(const std::string& part, const std::string& value) {
  io::Json document = small_document();
  document[part] = json_of(value);
  return make(document);
}

/// The small tokenizer with an option of its model.
inline Tokenizer with_model(const std::string& option, const std::string& value) {
  io::Json document = small_document();
  document["model"][option] = json_of(value);
  return make(document);
}

}  // namespace wafer::tokenizer

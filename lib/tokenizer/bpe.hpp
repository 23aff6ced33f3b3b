#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokenizer/field.hpp"

namespace wafer::tokenizer {

/// Lets a map of texts be asked with a string_view.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

/// The ids of the tokens.
using Vocabulary = std::unordered_map<std::string, Index, TextHash, std::equal_to<>>;

/// Byte pair encoding: a word begins as its characters; the pair of neighbours that stands first in the list
/// of merges becomes one token, the leftmost first, until no pair is in the list.
class Bpe {
public:
  /// @param model the "model" of tokenizer.json
  /// @throws InputError for another model and for dropout, subword prefixes and suffixes, by name
  explicit Bpe(const Field& model);

  /// Appends the ids of one word, in O(n log n). A character outside the vocabulary becomes its bytes
  /// (byte_fallback), else the unknown token, else nothing.
  void encode(std::string_view word, std::vector<Index>& ids) const;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  std::optional<Index> id_of(std::string_view token) const;

private:
  /// What a pair of tokens becomes.
  struct Merge {
    std::int64_t rank;  ///< place in the list of merges
    Index id;
  };
  struct Symbol;
  struct Candidate;

  void read_vocabulary(const Field& field);
  void read_merges(const Field& field);
  const Merge* merge_of(Index left, Index right) const;
  std::optional<std::vector<Index>> bytes_of(std::string_view character) const;
  Index unknown_id() const;
  std::vector<Index> characters_of(std::string_view word) const;
  std::vector<Index> merge(const std::vector<Index>& characters) const;

  std::string where_;
  Vocabulary vocabulary_;
  std::unordered_map<std::uint64_t, Merge> merges_;  ///< by the pair of ids
  std::optional<std::string> unknown_;
  bool fuse_unknown_;
  bool byte_fallback_;
  bool ignore_merges_;
};

}  // namespace wafer::tokenizer

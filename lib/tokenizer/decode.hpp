#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tokenizer/field.hpp"
#include "tokenizer/regex.hpp"

namespace wafer::tokenizer {

/// Texts on their way from tokens to the whole.
using Texts = std::vector<std::string>;

// The steps of decoding. Each takes texts one by one with push(), passes on what is certain, and the rest at
// finish(). Behind a step that joins all texts to one, the later steps see that one text in parts
// ("joined"); where such a step needs it whole, a Gather stands before it.

/// No decoder at all: a space between the tokens.
struct SpaceBetween {
  bool first = true;
  void push(const std::string& text, Texts& out);
  void finish(Texts&) const {}
};

/// The byte alphabet back to bytes. Joins; bytes of an unfinished character wait.
struct FromByteAlphabet {
  std::string waiting = {};
  void push(const std::string& text, Texts& out);
  void finish(Texts& out);
};

/// "<0x41>" to the byte. A run of byte tokens is a text if it is valid UTF-8 as a whole, else U+FFFD for
/// each; so the run waits for its end.
struct ByteFallback {
  std::string waiting = {};
  void push(const std::string& text, Texts& out);
  void finish(Texts& out);
};

/// Metaspace's sign to a space, or to nothing in the first text where encoding put one there.
struct FromMetaspace {
  std::string sign;
  bool drop_first;
  bool joined;
  bool first = true;
  void push(const std::string& text, Texts& out);
  void finish(Texts&) const {}
};

/// Every match to `content`.
struct ReplaceText {
  Regex regex;
  std::string content;
  void push(const std::string& text, Texts& out) const;
  void finish(Texts&) const {}
};

/// Takes up to `start` and `stop` times `content`, one character, from the two ends of each text.
struct StripText {
  std::string content;
  std::size_t start;
  std::size_t stop;
  bool joined;
  std::size_t left = start;  ///< how many the next text may still lose at its start
  void push(const std::string& text, Texts& out);
  void finish(Texts&) const {}
};

/// Keeps everything until the end.
struct Gather {
  std::string waiting = {};
  void push(const std::string& text, Texts& out);
  void finish(Texts& out);
};

using DecodeStep =
    std::variant<SpaceBetween, FromByteAlphabet, ByteFallback, FromMetaspace, ReplaceText, StripText, Gather>;

/// The decoder of tokenizer.json as a chain of steps: ByteLevel, Metaspace, Replace, ByteFallback, Fuse,
/// Strip or a Sequence of them. Holds the state of one decoding; copy a fresh one to begin another.
class Decoder {
public:
  /// @throws InputError for any other decoder, by name
  explicit Decoder(const std::optional<Field>& field);

  /// The text that one more token makes certain.
  std::string push(const std::string& token);

  /// What still waits.
  std::string finish();

private:
  void add(const Field& field);

  std::vector<DecodeStep> steps_;
  bool joined_ = false;  ///< while the chain is built: an earlier step joins
};

}  // namespace wafer::tokenizer

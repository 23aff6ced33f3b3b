#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/index.hpp"

namespace wafer::tokenizer {

class Decoder;

/// A tokenizer.json of Hugging Face's tokenizers library, for the BPE models of the Llama, Mistral and Qwen
/// families. Encodes and decodes exactly as that library does. Move-only.
class Tokenizer {
public:
  /// @param json the text of tokenizer.json   @param where its name in messages
  /// @throws InputError for malformed JSON and for a component or option that we do not have, by name.
  Tokenizer(std::string_view json, const std::string& where);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  /// Ids of a text; with `add_special` the post-processor adds what it adds (BOS). Invalid UTF-8 counts as
  /// U+FFFD.
  std::vector<Index> encode(std::string_view text, bool add_special = true) const;

  /// Text of ids; special tokens are left out when `skip_special`, and ids that name no token always.
  std::string decode(const std::vector<Index>& ids, bool skip_special = true) const;

  /// One more than the largest id, added tokens included.
  Index size() const;

private:
  friend class DecodeStream;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Turns ids into text one by one and never splits a UTF-8 character. Text comes out once no later id can
/// change it: bytes of an unfinished character wait for the next id, byte-fallback tokens for the end of
/// their run. The pieces concatenated equal decode() of all ids. `tokenizer` must outlive the stream.
class DecodeStream {
public:
  explicit DecodeStream(const Tokenizer& tokenizer);
  ~DecodeStream();

  /// The text that `id` makes certain; may be empty.
  std::string push(Index id);

  /// What still waits, invalid bytes as U+FFFD. The stream then begins anew.
  std::string finish();

private:
  const Tokenizer& tokenizer_;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace wafer::tokenizer

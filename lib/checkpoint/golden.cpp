#include "checkpoint/golden.hpp"

#include <string>

#include <fmt/format.h>

#include "core/error.hpp"
#include "io/hdf5.hpp"

namespace wafer::checkpoint {
namespace {

std::string what(const io::Hdf5Reader& file, const char* name) {
  return fmt::format("{}: dataset \"{}\"", file.path().string(), name);
}

/// A list of tokens of the vocabulary.
std::vector<Index> read_ids(const io::Hdf5Reader& file, const char* name, const ModelConfig& config) {
  const std::vector<Index> shape = file.shape(name);
  if (shape.size() != 1 || shape[0] < 1 || shape[0] > config.longest_sequence())
    throw InputError({.what = what(file, name),
                      .got = "shape " + io::format_shape(shape),
                      .expected = fmt::format("a list of 1 to {} tokens", config.longest_sequence())});
  std::vector<Index> ids = file.read_indices(name);
  for (const Index id : ids)
    if (id < 0 || id >= config.vocab)
      throw InputError({.what = what(file, name),
                        .got = fmt::format("token {}", id),
                        .expected = fmt::format("0 to {}, the model's vocabulary", config.vocab - 1)});
  return ids;
}

std::vector<double> read_values(const io::Hdf5Reader& file, const char* name,
                                const std::vector<Index>& expected) {
  const std::vector<Index> shape = file.shape(name);
  if (shape != expected)
    throw InputError({.what = what(file, name),
                      .got = "shape " + io::format_shape(shape),
                      .expected = io::format_shape(expected) + " for this model"});
  return file.read_doubles(name);
}

}  // namespace

Golden read_golden(const std::filesystem::path& path, const ModelConfig& config) {
  const io::Hdf5Reader file(path);
  Golden golden;
  golden.input_ids = read_ids(file, "input_ids", config);
  const auto length = static_cast<Index>(golden.input_ids.size());
  golden.logits = read_values(file, "logits", {length, config.vocab});
  golden.hidden = read_values(file, "hidden", {config.layers + 1, length, config.hidden});
  golden.prompt_ids = file.has("prompt_ids") ? read_ids(file, "prompt_ids", config) : golden.input_ids;
  golden.greedy_ids = read_ids(file, "greedy_ids", config);
  golden.greedy_gap = read_values(file, "greedy_gap", {static_cast<Index>(golden.greedy_ids.size())});
  return golden;
}

}  // namespace wafer::checkpoint

#pragma once

#include <filesystem>
#include <vector>

#include "checkpoint/config.hpp"
#include "tensor/view.hpp"

namespace wafer::checkpoint {

/// What another implementation computed for a model, to verify ours against.
struct Golden {
  std::vector<Index> input_ids;  // (T)
  std::vector<double> logits;    // (T, V)
  std::vector<double> hidden;  // (layers + 1, T, E): the embedding, then after each layer; the last entry is
                               // after the final norm
  std::vector<Index> prompt_ids;   // what greedy_ids continue: input_ids unless the file says otherwise
  std::vector<Index> greedy_ids;   // the likeliest token at each step
  std::vector<double> greedy_gap;  // logit distance to the second likeliest, one for each of greedy_ids
};

/// Reads such a file (HDF5, one dataset for each member).
/// @throws InputError if it is missing or damaged, or its shapes or ids are not those of this model.
Golden read_golden(const std::filesystem::path& path, const ModelConfig& config);

}  // namespace wafer::checkpoint

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "checkpoint/checkpoint.hpp"

namespace wafer::checkpoint {

/// Called with the bytes of weights written so far, and of all.
using Progress = std::function<void(std::int64_t done, std::int64_t total)>;

/// Writes a model as one HDF5 file: "config.json", "generation_config.json" and "tokenizer.json" (those that
/// it has) as texts, and its tensors under "weights/" by Hugging Face's names, each as stored. A few MiB of
/// memory, whatever the model's size.
/// @throws InputError if the model cannot be read or the file cannot be written.
void convert_to_hdf5(const Checkpoint& model, const std::filesystem::path& path,
                     const Progress& progress = {});

/// A model whose weights are to be made up.
struct RandomModel {
  std::string config_json;  ///< Hugging Face's config.json
  std::string where;        ///< names it in messages
  std::uint64_t seed = 0;
};

/// Writes a complete model with random weights: one HDF5 file where `output` ends in .h5, else a directory
/// (made if it is not there) with config.json and model.safetensors.
///
/// Matrices and biases are normal with the deviation that the configuration gives (`initializer_range`, 0.02
/// if absent), norms 1 plus the same; stored in its type (`dtype` or `torch_dtype`, bfloat16 if absent). A
/// weight depends on the seed, its tensor's name and its place alone.
/// @throws InputError for a bad configuration, a directory that already has weights, or what cannot be
/// written.
void make_random_model(const RandomModel& model, const std::filesystem::path& output,
                       const Progress& progress = {});

}  // namespace wafer::checkpoint

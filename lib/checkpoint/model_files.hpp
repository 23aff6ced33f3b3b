#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/config.hpp"
#include "io/file.hpp"
#include "io/stored_tensor.hpp"

namespace wafer::checkpoint {

/// A tensor, and which of the model's files holds it.
struct FoundTensor {
  std::size_t file = 0;
  io::StoredTensor stored;
};

/// The files of a model, in whichever form it was found: the texts, and where each tensor lies.
struct ModelFiles {
  std::string config_json;
  std::string generation_json;
  std::string tokenizer_json;
  std::string where;  ///< names the configuration in messages
  std::vector<io::File> files;
  std::map<std::string, FoundTensor> tensors;  ///< by Hugging Face's name
};

/// The texts of a model, by the same names as files and as datasets of an HDF5 file.
constexpr const char* config_name = "config.json";
constexpr const char* generation_name = "generation_config.json";
constexpr const char* tokenizer_name = "tokenizer.json";

/// What goes before a tensor's name in an HDF5 file.
constexpr const char* weights_folder = "weights/";

/// The only file of weights of a model that is not in shards.
constexpr const char* single_file_name = "model.safetensors";

/// Opens a Hugging Face directory or an HDF5 file; reads headers only.
/// @throws InputError for what is missing or malformed.
ModelFiles open_model_files(const std::filesystem::path& path);

}  // namespace wafer::checkpoint

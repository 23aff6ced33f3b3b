#include "checkpoint/model_files.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/error.hpp"
#include "io/hdf5.hpp"
#include "io/json_object.hpp"
#include "io/safetensors.hpp"

namespace wafer::checkpoint {

using io::JsonObject;
namespace {

namespace fs = std::filesystem;

constexpr const char* index_name = "model.safetensors.index.json";

bool is_there(const fs::path& path) {
  std::error_code ignored;  // what cannot be looked at is not there
  return fs::exists(path, ignored);
}

std::string read_text_if_there(const fs::path& path) {
  return is_there(path) ? io::read_text(path) : std::string();
}

/// Opens a safetensors file and returns its tensors.
io::TensorTable add_file(const fs::path& path, ModelFiles& model) {
  model.files.emplace_back(path);
  return io::read_safetensors_header(model.files.back());
}

void add_single_file(const fs::path& path, ModelFiles& model) {
  for (auto& item : add_file(path, model)) model.tensors[item.first] = {0, std::move(item.second)};
}

/// The shards by name, each with the tensors that the index says it holds.
std::map<std::string, std::set<std::string>> read_index(const fs::path& path) {
  const JsonObject index(io::parse_json(io::read_text(path), path.string()), path.string());
  const JsonObject weight_map = index.object("weight_map");
  std::map<std::string, std::set<std::string>> shards;
  for (const auto& item : index.at("weight_map").items()) {
    const std::string shard = weight_map.text(item.key().c_str());
    if (shard.empty() || shard.find_first_of("/\\") != std::string::npos)
      weight_map.refuse(item.key().c_str(), "the name of a file in the same directory");
    shards[shard].insert(item.key());
  }
  return shards;
}

void add_shards(const fs::path& directory, ModelFiles& model) {
  for (const auto& item : read_index(directory / index_name)) {
    const fs::path path = directory / item.first;
    if (!is_there(path))
      throw InputError(
          {.what = fmt::format("{} names a file that is not there", (directory / index_name).string()),
           .got = item.first,
           .remedy = "downloading it"});
    io::TensorTable tensors = add_file(path, model);
    for (const std::string& name : item.second) {
      const auto found = tensors.find(name);
      if (found == tensors.end())
        throw InputError({.what = fmt::format("{} has no tensor \"{}\"", path.string(), name),
                          .expected = fmt::format("what {} says", index_name)});
      model.tensors[name] = {model.files.size() - 1, std::move(found->second)};
    }
  }
}

/// The one file of weights in a directory whose weights have no usual name.
fs::path find_other_name(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored))
    if (entry.path().extension() == ".safetensors") found.push_back(entry.path());
  if (found.size() == 1) return found[0];
  throw InputError({.what = fmt::format("model directory {} has no weights", directory.string()),
                    .got = fmt::format("{} other safetensors files", found.size()),
                    .expected = fmt::format("{} or {}", single_file_name, index_name)});
}

ModelFiles open_directory(const fs::path& directory) {
  ModelFiles model;
  const fs::path config = directory / config_name;
  if (!is_there(config))
    throw InputError({.what = fmt::format("model directory {} has no config.json", directory.string()),
                      .remedy = "the directory of a Hugging Face model"});
  model.where = config.string();
  model.config_json = io::read_text(config);
  model.generation_json = read_text_if_there(directory / generation_name);
  model.tokenizer_json = read_text_if_there(directory / tokenizer_name);
  if (is_there(directory / single_file_name))
    add_single_file(directory / single_file_name, model);
  else if (is_there(directory / index_name))
    add_shards(directory, model);
  else
    add_single_file(find_other_name(directory), model);
  return model;
}

std::string read_text_if_there(const io::Hdf5Reader& file, const char* name) {
  return file.has(name) ? file.read_text(name) : std::string();
}

ModelFiles open_hdf5(const fs::path& path) {
  const io::Hdf5Reader reader(path);
  ModelFiles model;
  if (!reader.has(config_name))
    throw InputError({.what = fmt::format("{} holds no model", path.string()),
                      .got = fmt::format("no dataset {}", config_name),
                      .remedy = "a file made by convert"});
  model.where = fmt::format("{}: {}", path.string(), config_name);
  model.config_json = reader.read_text(config_name);
  model.generation_json = read_text_if_there(reader, generation_name);
  model.tokenizer_json = read_text_if_there(reader, tokenizer_name);
  model.files.emplace_back(path);  // weights are read from the file itself, like those of any other
  const std::string folder = weights_folder;
  for (const std::string& name : reader.names())
    if (name.compare(0, folder.size(), folder) == 0)
      model.tensors[name.substr(folder.size())] = {0, reader.locate(name)};
  return model;
}

}  // namespace

ModelFiles open_model_files(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) return open_directory(path);
  if (!fs::exists(status))
    throw InputError(
        {.what = fmt::format("model directory {} not found", path.string()),
         .remedy = "a directory with config.json and model.safetensors, or an .h5 file made by convert"});
  const fs::path extension = path.extension();
  if (extension == ".h5" || extension == ".hdf5") return open_hdf5(path);
  throw InputError({.what = fmt::format("{} is not a model", path.string()),
                    .got = "a file",
                    .expected = "a directory or an .h5 file",
                    .remedy = "the directory that holds it"});
}

}  // namespace wafer::checkpoint

#include <cmath>
#include <cstring>
#include <numbers>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "checkpoint/convert.hpp"
#include "checkpoint/model_files.hpp"
#include "checkpoint/slabs.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/random.hpp"
#include "io/hdf5.hpp"
#include "io/json_object.hpp"
#include "io/safetensors.hpp"

namespace wafer::checkpoint {

using io::JsonObject;
namespace {

namespace fs = std::filesystem;

/// How the weights are drawn and stored.
struct Recipe {
  ModelConfig config;
  std::uint64_t seed = 0;
  DType dtype = DType::bf16;
  float deviation = 0.02F;
};

Recipe read_recipe(const RandomModel& model) {
  const JsonObject json(io::parse_json(model.config_json, model.where), model.where);
  Recipe recipe;
  recipe.config = parse_config(model.config_json, "", model.where);
  recipe.seed = model.seed;
  recipe.deviation = static_cast<float>(json.number_or("initializer_range", 0.02, 0.0, 1e3));
  const char* key = json.has("dtype") ? "dtype" : "torch_dtype";  // the older name
  const std::string type = json.optional_text(key).value_or("bfloat16");
  if (type == "float32")
    recipe.dtype = DType::f32;
  else if (type == "float16")
    recipe.dtype = DType::f16;
  else if (type != "bfloat16")
    json.refuse(key, "float32, bfloat16 or float16");
  return recipe;
}

/// Two standard normal numbers of two uniform words (Box-Muller).
void draw_pair(std::uint32_t first, std::uint32_t second, float* out) {
  const float u = (static_cast<float>(first) + 0.5F) * 0x1p-32F;  // never zero
  const float angle = static_cast<float>(second) * (2.0F * std::numbers::pi_v<float> * 0x1p-32F);
  const float radius = std::sqrt(-2.0F * std::log(u));
  out[0] = radius * std::cos(angle);
  out[1] = radius * std::sin(angle);
}

/// Standard normal numbers: those of the places first, first + 1, … of a tensor.
void draw(const Random& random, Index first, std::span<float> out) {
  float four[4] = {};
  Index drawn = -1;  // the group of four places that `four` holds
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Index place = first + static_cast<Index>(i);
    if (place / 4 != drawn) {
      drawn = place / 4;
      const auto words = random.words(static_cast<std::uint64_t>(drawn));
      draw_pair(words[0], words[1], four);
      draw_pair(words[2], words[3], four + 2);
    }
    out[i] = four[place % 4];
  }
}

bool is_norm(Weight weight) {
  using enum Weight;
  return weight == attention_norm || weight == ffn_norm || weight == final_norm || weight == q_norm ||
         weight == k_norm;
}

/// The values as the bytes that are stored.
void store(std::span<const float> values, DType type, std::vector<std::byte>& out) {
  out.resize(values.size() * size_of(type));
  if (type == DType::f32) {
    std::memcpy(out.data(), values.data(), out.size());
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t word = type == DType::bf16 ? bf16_of(values[i]) : f16_of(values[i]);
    std::memcpy(out.data() + i * sizeof(word), &word, sizeof(word));
  }
}

/// Makes all weights, slab by slab, and hands them to `write` as they are stored.
void make_weights(const Recipe& recipe, const Progress& progress,
                  const std::function<void(const Slab&, std::span<const std::byte>)>& write) {
  std::vector<float> values;
  std::vector<std::byte> bytes;
  const auto dtype = [&](WeightId) { return recipe.dtype; };
  for_each_slab(recipe.config, dtype, progress, [&](const Slab& slab) {
    const std::string name = name_of(slab.id);
    const Random random(recipe.seed, hash_bytes(std::as_bytes(std::span(name))));
    values.resize(static_cast<std::size_t>(slab.shape.size()));
    draw(random, slab.first_row * slab.shape.cols, values);
    const float mean = is_norm(slab.id.weight) ? 1.0F : 0.0F;
    for (float& value : values) value = mean + recipe.deviation * value;
    store(values, recipe.dtype, bytes);
    write(slab, bytes);
  });
}

void write_hdf5(const RandomModel& model, const Recipe& recipe, const fs::path& path,
                const Progress& progress) {
  io::Hdf5Writer file(path);
  file.write_text(config_name, model.config_json);
  make_weights(recipe, progress, [&](const Slab& slab, std::span<const std::byte> bytes) {
    if (slab.first_row == 0) {
      io::TensorSpec tensor = spec_of(recipe.config, slab.id, recipe.dtype);
      tensor.name = weights_folder + tensor.name;
      file.begin_tensor(tensor);
    }
    file.append_rows(bytes);
  });
  file.commit();
}

/// Makes the directory; refuses one that has weights, which are perhaps nowhere else.
void prepare_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error || !fs::is_directory(directory, error))
    throw InputError({.what = fmt::format("cannot make the directory {}", directory.string()),
                      .got = error ? error.message() : "a file of that name"});
  for (const auto& entry : fs::directory_iterator(directory, error))
    if (entry.path().extension() == ".safetensors")
      throw InputError({.what = fmt::format("{} already has weights", directory.string()),
                        .got = entry.path().filename().string(),
                        .remedy = "another directory, or removing it first"});
}

void write_directory(const RandomModel& model, const Recipe& recipe, const fs::path& directory,
                     const Progress& progress) {
  prepare_directory(directory);
  std::vector<io::TensorSpec> tensors;
  for (const WeightId id : weights_of(recipe.config))
    tensors.push_back(spec_of(recipe.config, id, recipe.dtype));
  io::SafetensorsWriter file(directory / single_file_name, tensors);
  make_weights(recipe, progress, [&](const Slab&, std::span<const std::byte> bytes) { file.write(bytes); });
  io::write_text(directory / config_name, model.config_json);
  file.finish();
}

}  // namespace

void make_random_model(const RandomModel& model, const fs::path& output, const Progress& progress) {
  const Recipe recipe = read_recipe(model);
  if (output.extension() == ".h5" || output.extension() == ".hdf5")
    write_hdf5(model, recipe, output, progress);
  else
    write_directory(model, recipe, output, progress);
}

}  // namespace wafer::checkpoint

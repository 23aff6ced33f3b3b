#include "checkpoint/checkpoint.hpp"

#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "checkpoint/gather.hpp"
#include "checkpoint/model_files.hpp"
#include "checkpoint/slabs.hpp"
#include "core/error.hpp"

namespace wafer::checkpoint {
namespace {

std::optional<DType> dtype_of(const std::string& name) {
  for (const DType type : {DType::f32, DType::bf16, DType::f16})
    if (name == name_of(type)) return type;
  return std::nullopt;
}

/// A tensor that the model needs: there, with its shape and a type that we know.
void check_tensor(const ModelFiles& files, const ModelConfig& config, WeightId id,
                  const std::filesystem::path& path) {
  const std::string name = name_of(id);
  const auto found = files.tensors.find(name);
  if (found == files.tensors.end())
    throw InputError(
        {.what = fmt::format("model {} has no tensor \"{}\"", path.string(), name),
         .expected = fmt::format("the tensors of a {} of {} layers", config.model_type, config.layers)});
  const io::StoredTensor& stored = found->second.stored;
  const std::string what =
      fmt::format("{}: tensor \"{}\"", files.files[found->second.file].path().string(), name);
  const std::vector<Index> expected = spec_of(config, id, DType::f32).shape;
  if (stored.shape != expected)
    throw InputError({.what = what,
                      .got = "shape " + io::format_shape(stored.shape),
                      .expected = fmt::format("{} from {}", io::format_shape(expected), files.where)});
  if (!dtype_of(stored.dtype))
    throw InputError({.what = what, .got = "type " + stored.dtype, .expected = "F32, F16 or BF16"});
}

}  // namespace

struct Checkpoint::Impl {
  std::filesystem::path path;
  ModelFiles files;
  ModelConfig config;

  const FoundTensor& find(WeightId id) const {
    if (config.tied_embeddings && id.weight == Weight::lm_head) id.weight = Weight::embedding;
    const auto found = files.tensors.find(name_of(id));
    WAFER_CHECK(found != files.tensors.end(), "this model has no " + name_of(id));
    return found->second;
  }
};

Checkpoint::Checkpoint(const std::filesystem::path& path)
    : impl_(std::make_unique<Impl>(Impl{path, open_model_files(path), {}})) {
  const ModelFiles& files = impl_->files;
  impl_->config = parse_config(files.config_json, files.generation_json, files.where);
  for (const WeightId id : weights_of(impl_->config)) check_tensor(files, impl_->config, id, path);
}

Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;
Checkpoint::~Checkpoint() = default;

const std::filesystem::path& Checkpoint::path() const { return impl_->path; }
const ModelConfig& Checkpoint::config() const { return impl_->config; }
const std::string& Checkpoint::config_json() const { return impl_->files.config_json; }
const std::string& Checkpoint::generation_json() const { return impl_->files.generation_json; }
const std::string& Checkpoint::tokenizer_json() const { return impl_->files.tokenizer_json; }

DType Checkpoint::dtype(WeightId id) const { return *dtype_of(impl_->find(id).stored.dtype); }

void Checkpoint::read(WeightId id, std::span<const Index> rows, std::span<const Index> cols,
                      std::span<std::byte> out) const {
  const FoundTensor& found = impl_->find(id);
  gather({.file = impl_->files.files[found.file],
          .offset = found.stored.offset,
          .shape = shape_of(impl_->config, id),
          .element_size = size_of(dtype(id))},
         rows, cols, out);
}

std::vector<float> Checkpoint::read_vector(WeightId id) const {
  WAFER_CHECK(!is_matrix(id.weight), name_of(id) + " is a matrix");
  std::vector<Index> cols(static_cast<std::size_t>(shape_of(impl_->config, id).cols));
  std::iota(cols.begin(), cols.end(), Index{0});
  const DType type = dtype(id);
  std::vector<std::byte> bytes(cols.size() * size_of(type));
  read(id, std::vector<Index>{0}, cols, bytes);
  std::vector<float> values(cols.size());
  if (type == DType::f32) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t word = 0;
    std::memcpy(&word, bytes.data() + i * sizeof(word), sizeof(word));
    values[i] = type == DType::bf16 ? float_of_bf16(word) : float_of_f16(word);
  }
  return values;
}

std::int64_t Checkpoint::bytes() const {
  std::int64_t total = 0;
  for (const WeightId id : weights_of(impl_->config)) total += impl_->find(id).stored.bytes;
  return total;
}

}  // namespace wafer::checkpoint

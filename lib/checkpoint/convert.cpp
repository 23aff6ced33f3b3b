#include "checkpoint/convert.hpp"

#include <numeric>

#include "checkpoint/model_files.hpp"
#include "checkpoint/slabs.hpp"
#include "io/hdf5.hpp"

namespace wafer::checkpoint {
namespace {

std::vector<Index> counted(Index first, Index count) {
  std::vector<Index> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), first);
  return indices;
}

}  // namespace

void convert_to_hdf5(const Checkpoint& model, const std::filesystem::path& path, const Progress& progress) {
  io::Hdf5Writer file(path);
  file.write_text(config_name, model.config_json());
  if (!model.generation_json().empty()) file.write_text(generation_name, model.generation_json());
  if (!model.tokenizer_json().empty()) file.write_text(tokenizer_name, model.tokenizer_json());
  const auto dtype = [&](WeightId id) { return model.dtype(id); };
  std::vector<std::byte> bytes;
  for_each_slab(model.config(), dtype, progress, [&](const Slab& slab) {
    if (slab.first_row == 0) {
      io::TensorSpec tensor = spec_of(model.config(), slab.id, dtype(slab.id));
      tensor.name = weights_folder + tensor.name;
      file.begin_tensor(tensor);
    }
    bytes.resize(static_cast<std::size_t>(slab.shape.size()) * size_of(dtype(slab.id)));
    model.read(slab.id, counted(slab.first_row, slab.shape.rows), counted(0, slab.shape.cols), bytes);
    file.append_rows(bytes);
  });
  file.commit();
}

}  // namespace wafer::checkpoint

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <hdf5.h>

#include "core/error.hpp"
#include "io/file.hpp"
#include "io/hdf5.hpp"
#include "io/hdf5_reason.hpp"

namespace wafer::io {
namespace {

static_assert(sizeof(hid_t) == sizeof(std::int64_t), "Hdf5Id holds the library's identifiers");

herr_t note_name(hid_t group, const char* name, const H5L_info_t* /*link*/, void* out) {
  const Hdf5Id object(H5Oopen(group, name, H5P_DEFAULT), H5Oclose);
  if (object.get() < 0) return -1;
  if (H5Iget_type(object.get()) == H5I_DATASET) static_cast<std::set<std::string>*>(out)->insert(name);
  return 0;
}

/// The text of a fixed-length string attribute; empty where there is none.
std::string read_attribute(const Hdf5Id& dataset, const char* name) {
  if (H5Aexists(dataset.get(), name) <= 0) return {};
  const Hdf5Id attribute(H5Aopen(dataset.get(), name, H5P_DEFAULT), H5Aclose);
  const Hdf5Id type(H5Aget_type(attribute.get()), H5Tclose);
  if (H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) != 0) return {};
  const Hdf5Id space(H5Aget_space(attribute.get()), H5Sclose);
  if (H5Sget_simple_extent_npoints(space.get()) != 1 || H5Tget_size(type.get()) > 64) return {};
  std::string text(H5Tget_size(type.get()), '\0');
  if (H5Aread(attribute.get(), type.get(), text.data()) < 0) return {};
  return text.substr(0, text.find('\0'));
}

/// The type as safetensors names it; empty for one that Hdf5Writer does not write.
std::string tensor_type_of(const Hdf5Id& dataset, const Hdf5Id& type) {
  if (H5Tequal(type.get(), H5T_IEEE_F32LE) > 0) return "F32";
  if (H5Tequal(type.get(), H5T_STD_U16LE) <= 0) return {};
  const std::string dtype = read_attribute(dataset, "dtype");
  return dtype == "F16" || dtype == "BF16" ? dtype : std::string();
}

}  // namespace

Hdf5Id::Hdf5Id(Hdf5Id&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}

Hdf5Id& Hdf5Id::operator=(Hdf5Id&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(close_, other.close_);
  return *this;
}

bool Hdf5Id::close() {
  const std::int64_t id = std::exchange(id_, -1);
  return id < 0 || close_(id) >= 0;
}

Hdf5Reader::Hdf5Reader(const std::filesystem::path& path) : path_(path), file_bytes_(File(path).size()) {
  prepare_hdf5();
  const std::string what = fmt::format("{} is no readable HDF5 file", path.string());
  const Hdf5Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  check_hdf5(H5Pset_file_locking(access.get(), 0, 1), what);
  file_ = Hdf5Id(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  check_hdf5(file_.get(), what);
  check_hdf5(H5Lvisit(file_.get(), H5_INDEX_NAME, H5_ITER_NATIVE, note_name, &names_), what);
}

std::string Hdf5Reader::what(const std::string& name) const {
  return fmt::format("{}: dataset \"{}\"", path_.string(), name);
}

Hdf5Id Hdf5Reader::open(const std::string& name) const {
  if (!has(name)) throw InputError({.what = fmt::format("{} has no dataset \"{}\"", path_.string(), name)});
  Hdf5Id dataset(H5Dopen2(file_.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
  check_hdf5(dataset.get(), what(name));
  return dataset;
}

std::vector<Index> Hdf5Reader::shape(const std::string& name) const {
  const Hdf5Id dataset = open(name);
  const Hdf5Id space(H5Dget_space(dataset.get()), H5Sclose);
  check_hdf5(space.get(), what(name));
  const int rank = H5Sget_simple_extent_ndims(space.get());
  check_hdf5(rank, what(name));
  std::vector<hsize_t> lengths(static_cast<std::size_t>(rank));
  check_hdf5(H5Sget_simple_extent_dims(space.get(), lengths.data(), nullptr), what(name));
  std::vector<Index> shape;
  for (const hsize_t length : lengths) {
    if (length > static_cast<hsize_t>(std::numeric_limits<Index>::max()))
      throw InputError({.what = what(name), .got = fmt::format("a dimension of {}", length)});
    shape.push_back(static_cast<Index>(length));
  }
  return shape;
}

std::size_t Hdf5Reader::elements(const std::string& name) const {
  // HDF5 compresses to no less than a thousandth; more elements than that are a damaged header.
  constexpr std::int64_t most_per_byte = 1100;
  const std::vector<Index> lengths = shape(name);
  const auto count = bytes_of(8, lengths);  // of elements of one byte
  if (!count || *count / most_per_byte > file_bytes_)
    throw InputError({.what = what(name),
                      .got = "shape " + format_shape(lengths),
                      .expected = fmt::format("what fits a file of {} bytes", file_bytes_)});
  return static_cast<std::size_t>(*count);
}

void Hdf5Reader::read(const std::string& name, std::int64_t memory_type, int expected_class,
                      std::size_t elements, void* out) const {
  const Hdf5Id dataset = open(name);
  const Hdf5Id type(H5Dget_type(dataset.get()), H5Tclose);
  if (H5Tget_class(type.get()) != expected_class)
    throw InputError(
        {.what = what(name),
         .got = "values of another kind",
         .expected = expected_class == H5T_INTEGER ? "whole numbers" : "floating-point numbers"});
  if (elements != 0)
    check_hdf5(H5Dread(dataset.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out), what(name));
}

std::vector<Index> Hdf5Reader::read_indices(const std::string& name) const {
  std::vector<Index> values(elements(name));
  read(name, H5T_NATIVE_INT64, H5T_INTEGER, values.size(), values.data());
  return values;
}

std::vector<double> Hdf5Reader::read_doubles(const std::string& name) const {
  std::vector<double> values(elements(name));
  read(name, H5T_NATIVE_DOUBLE, H5T_FLOAT, values.size(), values.data());
  return values;
}

std::string Hdf5Reader::read_text(const std::string& name) const {
  const Hdf5Id dataset = open(name);
  const Hdf5Id type(H5Dget_type(dataset.get()), H5Tclose);
  const std::size_t size = H5Tget_size(type.get());
  if (H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) != 0 || elements(name) != 1 ||
      size > static_cast<std::size_t>(file_bytes_))
    throw InputError(
        {.what = what(name), .got = "values of another kind", .expected = "one text of fixed length"});
  std::string text(size, '\0');
  check_hdf5(H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()), what(name));
  return text.substr(0, text.find('\0'));
}

StoredTensor Hdf5Reader::locate(const std::string& name) const {
  const Hdf5Id dataset = open(name);
  const Hdf5Id type(H5Dget_type(dataset.get()), H5Tclose);
  StoredTensor tensor;
  tensor.dtype = tensor_type_of(dataset, type);
  if (tensor.dtype.empty())
    throw InputError({.what = what(name),
                      .got = "another type",
                      .expected = "32-bit floats, or 16-bit words with the attribute dtype"});
  tensor.shape = shape(name);
  const auto bytes = bytes_of(*bits_of(tensor.dtype), tensor.shape);
  const haddr_t offset = H5Dget_offset(dataset.get());
  const auto file_bytes = static_cast<haddr_t>(file_bytes_);
  if (!bytes || offset == HADDR_UNDEF || static_cast<haddr_t>(*bytes) > file_bytes ||
      offset > file_bytes - static_cast<haddr_t>(*bytes))
    throw InputError({.what = what(name),
                      .got = "data in chunks or beyond the end of the file",
                      .expected = "data in one piece",
                      .remedy = "converting the model again"});
  tensor.offset = static_cast<std::int64_t>(offset);
  tensor.bytes = *bytes;
  return tensor;
}

}  // namespace wafer::io

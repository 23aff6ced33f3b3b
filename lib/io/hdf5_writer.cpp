#include <algorithm>

#include <fmt/format.h>
#include <hdf5.h>

#include "core/error.hpp"
#include "io/hdf5.hpp"
#include "io/hdf5_reason.hpp"

namespace wafer::io {
namespace {

Hdf5Id make_space(const std::vector<Index>& shape) {
  const std::vector<hsize_t> lengths(shape.begin(), shape.end());
  return {H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr), H5Sclose};
}

/// The type of one text of `size` bytes.
Hdf5Id make_text_type(std::size_t size) {
  Hdf5Id type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), std::max<std::size_t>(size, 1));  // a type has at least one byte
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

void write_attribute(const Hdf5Id& dataset, const char* name, const std::string& text,
                     const std::string& what) {
  const Hdf5Id type = make_text_type(text.size());
  const Hdf5Id space(H5Screate(H5S_SCALAR), H5Sclose);
  const Hdf5Id attribute(H5Acreate2(dataset.get(), name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
                         H5Aclose);
  check_hdf5(attribute.get(), what);
  check_hdf5(H5Awrite(attribute.get(), type.get(), text.data()), what);
}

std::size_t count_of(const std::vector<Index>& shape) {
  const auto count = bytes_of(8, shape);  // of elements of one byte
  WAFER_CHECK(count.has_value(), format_shape(shape));
  return static_cast<std::size_t>(*count);
}

hid_t word_type_of(const std::string& dtype) {
  WAFER_CHECK(dtype == "F32" || dtype == "F16" || dtype == "BF16", dtype);
  return dtype == "F32" ? H5T_IEEE_F32LE : H5T_STD_U16LE;
}

}  // namespace

Hdf5Writer::Hdf5Writer(const std::filesystem::path& path) : path_(path), temporary_(path) {
  prepare_hdf5();
  const std::string what = fmt::format("cannot write {}", path.string());
  const Hdf5Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  check_hdf5(H5Pset_file_locking(access.get(), 0, 1), what);
  // The formats since 1.8 have checksums, so that damage is found when the file is opened.
  check_hdf5(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_LATEST), what);
  file_ =
      Hdf5Id(H5Fcreate(temporary_.temporary().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
  check_hdf5(file_.get(), what);
}

std::string Hdf5Writer::what(const std::string& name) const {
  return fmt::format("cannot write {}: dataset \"{}\"", path_.string(), name);
}

Hdf5Id Hdf5Writer::create(const std::string& name, std::int64_t type, std::int64_t space) {
  const Hdf5Id links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  check_hdf5(H5Pset_create_intermediate_group(links.get(), 1), what(name));
  Hdf5Id dataset(H5Dcreate2(file_.get(), name.c_str(), type, space, links.get(), H5P_DEFAULT, H5P_DEFAULT),
                 H5Dclose);
  check_hdf5(dataset.get(), what(name));
  return dataset;
}

void Hdf5Writer::write_values(const std::string& name, const std::vector<Index>& shape,
                              std::int64_t file_type, std::int64_t memory_type, const void* values) {
  const Hdf5Id space = make_space(shape);
  check_hdf5(space.get(), what(name));
  Hdf5Id dataset = create(name, file_type, space.get());
  if (count_of(shape) != 0)
    check_hdf5(H5Dwrite(dataset.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), what(name));
  if (!dataset.close()) check_hdf5(-1, what(name));
}

void Hdf5Writer::write(const std::string& name, const std::vector<Index>& shape,
                       std::span<const float> values) {
  WAFER_CHECK(count_of(shape) == values.size(), name);
  write_values(name, shape, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, values.data());
}

void Hdf5Writer::write(const std::string& name, const std::vector<Index>& shape,
                       std::span<const double> values) {
  WAFER_CHECK(count_of(shape) == values.size(), name);
  write_values(name, shape, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values.data());
}

void Hdf5Writer::write(const std::string& name, const std::vector<Index>& shape,
                       std::span<const Index> values) {
  WAFER_CHECK(count_of(shape) == values.size(), name);
  write_values(name, shape, H5T_STD_I64LE, H5T_NATIVE_INT64, values.data());
}

void Hdf5Writer::write_text(const std::string& name, const std::string& text) {
  const Hdf5Id type = make_text_type(text.size());
  const Hdf5Id space(H5Screate(H5S_SCALAR), H5Sclose);
  Hdf5Id dataset = create(name, type.get(), space.get());
  check_hdf5(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.c_str()), what(name));
  if (!dataset.close()) check_hdf5(-1, what(name));
}

void Hdf5Writer::begin_tensor(const TensorSpec& tensor) {
  end_tensor();
  WAFER_CHECK(!tensor.shape.empty() && tensor.shape[0] > 0, tensor.name + " has rows");
  const hid_t type = word_type_of(tensor.dtype);
  const Hdf5Id space = make_space(tensor.shape);
  check_hdf5(space.get(), what(tensor.name));
  const auto bytes = bytes_of(*bits_of(tensor.dtype), tensor.shape);
  WAFER_CHECK(bytes.has_value(), tensor.name);
  tensor_ = {.name = tensor.name,
             .dataset = create(tensor.name, type, space.get()),
             .shape = tensor.shape,
             .row_bytes = *bytes / tensor.shape[0],
             .rows_written = 0};
  if (tensor.dtype != "F32") write_attribute(tensor_.dataset, "dtype", tensor.dtype, what(tensor.name));
}

void Hdf5Writer::append_rows(std::span<const std::byte> bytes) {
  const auto count = static_cast<std::int64_t>(bytes.size());
  WAFER_CHECK(tensor_.dataset.get() >= 0 && tensor_.row_bytes > 0 && count % tensor_.row_bytes == 0,
              tensor_.name);
  const Index rows = count / tensor_.row_bytes;
  WAFER_CHECK(tensor_.rows_written + rows <= tensor_.shape[0], tensor_.name + ": more rows than it has");
  const Hdf5Id type(H5Dget_type(tensor_.dataset.get()), H5Tclose);
  const Hdf5Id file_space(H5Dget_space(tensor_.dataset.get()), H5Sclose);
  std::vector<Index> shape = tensor_.shape;
  shape[0] = rows;
  const Hdf5Id memory_space = make_space(shape);
  std::vector<hsize_t> first(shape.size(), 0);
  first[0] = static_cast<hsize_t>(tensor_.rows_written);
  const std::vector<hsize_t> extent(shape.begin(), shape.end());
  check_hdf5(
      H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, first.data(), nullptr, extent.data(), nullptr),
      what(tensor_.name));
  check_hdf5(H5Dwrite(tensor_.dataset.get(), type.get(), memory_space.get(), file_space.get(), H5P_DEFAULT,
                      bytes.data()),
             what(tensor_.name));
  tensor_.rows_written += rows;
}

void Hdf5Writer::end_tensor() {
  if (tensor_.name.empty()) return;
  WAFER_CHECK(tensor_.rows_written == tensor_.shape[0], tensor_.name + " is not complete");
  if (!tensor_.dataset.close()) check_hdf5(-1, what(tensor_.name));
  tensor_ = {};
}

void Hdf5Writer::commit() {
  end_tensor();
  if (!file_.close()) check_hdf5(-1, fmt::format("cannot write {}", path_.string()));
  temporary_.commit();
}

}  // namespace wafer::io

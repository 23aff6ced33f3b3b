#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "io/atomic_file.hpp"
#include "io/stored_tensor.hpp"
#include "tensor/view.hpp"

namespace wafer::io {

/// Owns one identifier of the HDF5 library. Move-only.
class Hdf5Id {
public:
  Hdf5Id() = default;
  /// `closer` is the library's function for this kind of identifier.
  Hdf5Id(std::int64_t id, int (*closer)(std::int64_t)) : id_(id), close_(closer) {}
  Hdf5Id(Hdf5Id&& other) noexcept;
  Hdf5Id& operator=(Hdf5Id&& other) noexcept;
  ~Hdf5Id() { close(); }

  std::int64_t get() const { return id_; }
  /// Whether the library closed it without an error.
  bool close();

private:
  std::int64_t id_ = -1;
  int (*close_)(std::int64_t) = nullptr;
};

/// An HDF5 file opened for reading, without a lock, so that many processes may read it at once. The library
/// is not made for threads: use all readers and writers from one.
/// Every function throws InputError, with the file and the dataset by name, for what is missing, damaged or
/// of another kind.
class Hdf5Reader {
public:
  explicit Hdf5Reader(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }

  /// The datasets, as "group/name".
  const std::set<std::string>& names() const { return names_; }
  bool has(const std::string& name) const { return names_.count(name) != 0; }

  /// Empty for a scalar.
  std::vector<Index> shape(const std::string& name) const;

  /// A whole dataset, row-major: of whole numbers, of floating-point numbers, of one text.
  std::vector<Index> read_indices(const std::string& name) const;
  std::vector<double> read_doubles(const std::string& name) const;
  std::string read_text(const std::string& name) const;

  /// Where a tensor lies that Hdf5Writer wrote, so that any part of it can be read from the file itself.
  StoredTensor locate(const std::string& name) const;

private:
  Hdf5Id open(const std::string& name) const;
  std::string what(const std::string& name) const;
  void read(const std::string& name, std::int64_t memory_type, int expected_class, std::size_t elements,
            void* out) const;
  std::size_t elements(const std::string& name) const;

  std::filesystem::path path_;
  std::int64_t file_bytes_ = 0;
  Hdf5Id file_;
  std::set<std::string> names_;
};

/// Writes an HDF5 file, which appears under its name at commit(), whole or not at all. Names are
/// "group/name"; groups are made as needed. Datasets lie in the file without gaps or compression.
/// Every function throws InputError if the file cannot be written.
class Hdf5Writer {
public:
  explicit Hdf5Writer(const std::filesystem::path& path);

  /// A whole dataset of this shape, row-major.
  void write(const std::string& name, const std::vector<Index>& shape, std::span<const float> values);
  void write(const std::string& name, const std::vector<Index>& shape, std::span<const double> values);
  void write(const std::string& name, const std::vector<Index>& shape, std::span<const Index> values);

  /// One text of any length.
  void write_text(const std::string& name, const std::string& text);

  /// Begins a tensor of type F32, F16 or BF16, to be filled by append_rows(). The 16-bit types are stored as
  /// unsigned words with the attribute "dtype".
  void begin_tensor(const TensorSpec& tensor);

  /// The next rows (along the first dimension) of the tensor begun last.
  void append_rows(std::span<const std::byte> bytes);

  /// Completes the file.
  void commit();

private:
  struct Tensor {
    std::string name;
    Hdf5Id dataset;
    std::vector<Index> shape;
    std::int64_t row_bytes = 0;
    Index rows_written = 0;
  };
  Hdf5Id create(const std::string& name, std::int64_t type, std::int64_t space);
  void write_values(const std::string& name, const std::vector<Index>& shape, std::int64_t file_type,
                    std::int64_t memory_type, const void* values);
  std::string what(const std::string& name) const;
  void end_tensor();

  std::filesystem::path path_;
  AtomicFile temporary_;
  Hdf5Id file_;
  Tensor tensor_;  // the one begun last
};

}  // namespace wafer::io

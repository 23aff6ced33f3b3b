#include "io/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include <fmt/format.h>

#include "core/error.hpp"
#include "io/json.hpp"

namespace wafer::io {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian and read as they are");

constexpr std::int64_t longest_header = 100'000'000;  // the format's own limit
constexpr const char* metadata_key = "__metadata__";

/// A list of whole numbers from 0 on; none for anything else.
std::optional<std::vector<Index>> numbers_of(const Json& value) {
  if (!value.is_array()) return std::nullopt;
  std::vector<Index> numbers;
  for (const Json& number : value) {
    if (!number.is_number_unsigned() || number.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
    numbers.push_back(number.get<Index>());
  }
  return numbers;
}

/// The start of a value that may be missing, for messages.
std::string excerpt_at(const Json& object, const char* key) {
  return object.contains(key) ? excerpt(object.at(key)) : std::string("nothing");
}

/// One entry of the header, its offset still counted from the end of the header.
StoredTensor parse_tensor(const Json& entry, const std::string& where) {
  if (!entry.is_object()) throw InputError({.what = where, .got = excerpt(entry), .expected = "an object"});
  const auto dtype = entry.contains("dtype") && entry.at("dtype").is_string()
                         ? entry.at("dtype").get<std::string>()
                         : std::string();
  const auto bits = bits_of(dtype);
  if (!bits)
    throw InputError({.what = where + ": dtype",
                      .got = excerpt_at(entry, "dtype"),
                      .expected = "a type that safetensors has"});
  const auto shape = entry.contains("shape") ? numbers_of(entry.at("shape")) : std::nullopt;
  if (!shape)
    throw InputError({.what = where + ": shape",
                      .got = excerpt_at(entry, "shape"),
                      .expected = "a list of whole numbers from 0 on"});
  const auto range = entry.contains("data_offsets") ? numbers_of(entry.at("data_offsets")) : std::nullopt;
  if (!range || range->size() != 2 || (*range)[0] > (*range)[1])
    throw InputError({.what = where + ": data_offsets",
                      .got = excerpt_at(entry, "data_offsets"),
                      .expected = "[begin, end] with begin <= end"});
  const auto bytes = bytes_of(*bits, *shape);
  const std::int64_t stored = (*range)[1] - (*range)[0];
  if (!bytes || *bytes != stored)
    throw InputError(
        {.what = where + ": data_offsets",
         .got = fmt::format("{} bytes", stored),
         .expected = fmt::format("{} for {} {}", bytes ? std::to_string(*bytes) : "another number", dtype,
                                 format_shape(*shape))});
  return {.dtype = dtype, .shape = *shape, .offset = (*range)[0], .bytes = stored};
}

/// The tensors must lie one after the other and end where the file does.
void check_cover(const TensorTable& tensors, std::int64_t data_bytes, const std::string& file) {
  std::vector<const TensorTable::value_type*> order;
  for (const auto& item : tensors) order.push_back(&item);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.offset, a->second.bytes) < std::pair(b->second.offset, b->second.bytes);
  });
  std::int64_t end = 0;
  for (const auto* item : order) {
    if (item->second.offset != end)
      throw InputError(
          {.what = fmt::format("{}: tensor \"{}\" {}", file, item->first,
                               item->second.offset < end ? "overlaps another" : "follows a hole"),
           .got = fmt::format("begin {}", item->second.offset),
           .expected = std::to_string(end)});
    end += item->second.bytes;
  }
  if (end != data_bytes)
    throw InputError({.what = file + (end < data_bytes ? " goes on after its tensors" : " ends early"),
                      .got = fmt::format("{} bytes of data", data_bytes),
                      .expected = std::to_string(end),
                      .remedy = "copying or downloading it again"});
}

void check_metadata(const Json& metadata, const std::string& file) {
  const auto is_text = [](const Json& value) { return value.is_string(); };
  if (!metadata.is_object() || !std::all_of(metadata.begin(), metadata.end(), is_text))
    throw InputError({.what = fmt::format("{}: {}", file, metadata_key),
                      .got = excerpt(metadata),
                      .expected = "an object of texts"});
}

/// The header's text.
std::string read_header(const File& file) {
  const std::string name = file.path().string();
  std::array<std::uint64_t, 1> length = {};
  if (file.size() < static_cast<std::int64_t>(sizeof(length)))
    throw InputError({.what = name + " is no safetensors file", .got = fmt::format("{} bytes", file.size())});
  file.read_at(0, std::as_writable_bytes(std::span(length)));
  const auto most = std::min(file.size() - static_cast<std::int64_t>(sizeof(length)), longest_header);
  if (length[0] > static_cast<std::uint64_t>(most))
    throw InputError({.what = name + " is no safetensors file, or ends early",
                      .got = fmt::format("a header of {} bytes", length[0]),
                      .expected = fmt::format("at most {}", most)});
  std::string header(length[0], '\0');
  file.read_at(sizeof(length), std::as_writable_bytes(std::span(header)));
  if (header.empty() || header[0] != '{')
    throw InputError(
        {.what = name + " is no safetensors file",
         .got = fmt::format("a header of {} bytes that does not start with '{{'", header.size())});
  return header;
}

}  // namespace

TensorTable read_safetensors_header(const File& file) {
  const std::string name = file.path().string();
  const std::string text = read_header(file);
  const Json header = parse_json(text, name);
  const auto data_begin = static_cast<std::int64_t>(sizeof(std::uint64_t) + text.size());
  TensorTable tensors;
  for (const auto& item : header.items()) {
    if (item.key() == metadata_key)
      check_metadata(item.value(), name);
    else
      tensors[item.key()] = parse_tensor(item.value(), fmt::format("{}: tensor \"{}\"", name, item.key()));
  }
  check_cover(tensors, file.size() - data_begin, name);
  for (auto& item : tensors) item.second.offset += data_begin;
  return tensors;
}

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path, std::span<const TensorSpec> tensors)
    : file_(path) {
  Json header;
  header[metadata_key]["format"] = "pt";  // readers refuse weights of an unnamed framework
  for (const TensorSpec& tensor : tensors) {
    const auto bits = bits_of(tensor.dtype);
    WAFER_CHECK(bits && !header.contains(tensor.name), tensor.name);
    const auto bytes = bytes_of(*bits, tensor.shape);
    WAFER_CHECK(bytes.has_value(), tensor.name);
    header[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {missing_, missing_ + *bytes}}};
    missing_ += *bytes;
  }
  std::string text = to_text(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the data is aligned
  const std::array<std::uint64_t, 1> length = {text.size()};
  file_.write(std::as_bytes(std::span(length)));
  file_.write(std::as_bytes(std::span(text)));
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
  missing_ -= static_cast<std::int64_t>(bytes.size());
  WAFER_CHECK(missing_ >= 0, "more bytes than the tensors have");
  file_.write(bytes);
}

void SafetensorsWriter::finish() {
  WAFER_CHECK(missing_ == 0, std::to_string(missing_) + " bytes are missing");
  file_.commit();
}

}  // namespace wafer::io

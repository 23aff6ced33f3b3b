#include "checkpoint/checkpoint.hpp"

#include <cstring>
#include <functional>

#include "checkpoint/read_whole.hpp"
#include "io/file.hpp"
#include "io/helpers.hpp"
#include "io/json.hpp"
#include "io/safetensors.hpp"

namespace wafer::checkpoint {
namespace {

namespace fs = std::filesystem;
using io::Json;
using test::contains;
using test::input_error_of;
using test::TemporaryFolder;

fs::path golden(const std::string& name) { return fs::path(WAFER_GOLDEN_DIR) / name; }

const std::vector<std::string> families = {"llama-gqa",   "llama-odd", "llama3-rope",
                                           "mistral-swa", "qwen2",     "qwen3"};

using Edit = std::function<void(std::vector<io::TensorSpec>&, Json& config)>;

/// A model of zeros in `folder`, of two layers and a few numbers, after `edit` has had its way.
void write_model(const TemporaryFolder& folder, const Edit& edit = {}) {
  Json config = {{"model_type", "llama"},       {"hidden_size", 4},       {"num_hidden_layers", 2},
                 {"num_attention_heads", 2},    {"intermediate_size", 5}, {"vocab_size", 7},
                 {"max_position_embeddings", 9}};
  const ModelConfig parsed = parse_config(io::to_text(config), "", "config");
  std::vector<io::TensorSpec> tensors;
  for (const WeightId id : weights_of(parsed)) {
    const Shape shape = shape_of(parsed, id);
    tensors.push_back({name_of(id), "F16", {shape.cols}});
    if (is_matrix(id.weight)) tensors.back().shape = {shape.rows, shape.cols};
  }
  if (edit) edit(tensors, config);
  io::write_text(folder / "config.json", io::to_text(config));
  io::SafetensorsWriter file(folder / "model.safetensors", tensors);
  for (const io::TensorSpec& tensor : tensors)
    file.write(std::vector<std::byte>(
        static_cast<std::size_t>(*io::bytes_of(*io::bits_of(tensor.dtype), tensor.shape))));
  file.finish();
}

std::string error_after(const Edit& edit) {
  const TemporaryFolder folder;
  write_model(folder, edit);
  return input_error_of([&] { Checkpoint model(folder.path()); });
}

TEST_CASE("models of every family open with the tensors that they need") {
  for (const std::string& name : families) {
    INFO(name);
    const Checkpoint model(golden(name));
    std::int64_t bytes = 0;
    for (const WeightId id : weights_of(model.config())) {
      CHECK(model.dtype(id) == DType::f32);
      bytes += shape_of(model.config(), id).size() * 4;
    }
    CHECK(model.bytes() == bytes);
    CHECK(model.path() == golden(name));
    CHECK(model.config_json() == io::read_text(golden(name) / "config.json"));
    CHECK(model.generation_json() == io::read_text(golden(name) / "generation_config.json"));
    CHECK(model.tokenizer_json().empty());
  }
}

TEST_CASE("the model of the repository opens, with its tokenizer") {
  const Checkpoint model(fs::path(WAFER_DATA_DIR) / "folio");
  CHECK(model.config().layers == 6);
  CHECK(model.dtype({Weight::q, 5}) == DType::bf16);
  CHECK(model.config().eos_ids == std::vector<Index>{1});
  CHECK(model.tokenizer_json() == io::read_text(fs::path(WAFER_DATA_DIR) / "folio" / "tokenizer.json"));
}

TEST_CASE("a whole tensor is what lies in the file at its offsets") {
  const Checkpoint model(golden("llama-odd"));
  const io::File file(golden("llama-odd") / "model.safetensors");
  const io::TensorTable table = io::read_safetensors_header(file);
  for (const WeightId id : weights_of(model.config())) {
    const io::StoredTensor& stored = table.at(name_of(id));
    std::vector<std::byte> expected(static_cast<std::size_t>(stored.bytes));
    file.read_at(stored.offset, expected);
    CHECK(read_whole(model, id) == expected);
  }
}

TEST_CASE("permuted and gapped reads equal slicing the whole") {
  const Checkpoint model(golden("qwen2"));
  const WeightId id = {Weight::down, 1};
  const Shape shape = shape_of(model.config(), id);
  const std::vector<std::byte> whole = read_whole(model, id);
  std::vector<Index> rows;
  std::vector<Index> cols;
  for (Index i = shape.rows - 1; i >= 0; i -= 3) rows.push_back(i);
  for (Index j = 0; j < shape.cols; ++j) cols.push_back(j * 7 % shape.cols);
  std::vector<std::byte> part(rows.size() * cols.size() * 4);
  model.read(id, rows, cols, part);
  std::size_t place = 0;
  for (const Index row : rows)
    for (const Index col : cols)
      REQUIRE(std::memcmp(&part[4 * place++], &whole[static_cast<std::size_t>(4 * (row * shape.cols + col))],
                          4) == 0);
}

TEST_CASE("a tied head is the embedding, and a stored one that is tied is ignored") {
  const Checkpoint tied(golden("qwen3"));
  CHECK(tied.config().tied_embeddings);
  CHECK(read_whole(tied, {Weight::lm_head, 0}) == read_whole(tied, {Weight::embedding, 0}));
  const Checkpoint untied(golden("llama-gqa"));
  CHECK(read_whole(untied, {Weight::lm_head, 0}) != read_whole(untied, {Weight::embedding, 0}));
  CHECK(error_after([](auto&, Json& config) { config["tie_word_embeddings"] = true; }) ==
        "nothing was thrown");
}

TEST_CASE("a vector comes as floats from every type") {
  for (const auto& [dtype, text] :
       std::vector<std::pair<std::string, std::string>>{{"F32", std::string("\0\0\xc0\x3f", 4)},
                                                        {"BF16", "\xc0\x3f"},
                                                        {"F16", std::string("\0\x3e", 2)}}) {
    const TemporaryFolder folder;
    const std::string type = dtype;
    write_model(folder, [&](auto& tensors, Json&) {
      for (auto& tensor : tensors) tensor.dtype = type;
    });
    const auto table = io::read_safetensors_header(io::File(folder / "model.safetensors"));
    std::string content = io::read_text(folder / "model.safetensors");
    content.replace(static_cast<std::size_t>(table.at("model.norm.weight").offset), text.size(), text);
    io::write_text(folder / "model.safetensors", content);
    CHECK(Checkpoint(folder.path()).read_vector({Weight::final_norm, 0}) ==
          std::vector<float>{1.5F, 0, 0, 0});
  }
}

TEST_CASE("names are Hugging Face's") {
  CHECK(name_of({Weight::embedding, 0}) == "model.embed_tokens.weight");
  CHECK(name_of({Weight::q, 3}) == "model.layers.3.self_attn.q_proj.weight");
  CHECK(name_of({Weight::down_bias, 12}) == "model.layers.12.mlp.down_proj.bias");
}

TEST_CASE("a tensor that is missing or does not fit is refused by name") {
  CHECK(error_after({}) == "nothing was thrown");
  const auto error_for = [](const std::function<void(io::TensorSpec&)>& edit) {
    return error_after([&](auto& tensors, Json&) {
      for (auto& tensor : tensors)
        if (tensor.name == "model.layers.1.mlp.up_proj.weight") edit(tensor);
    });
  };
  CHECK_THAT(error_for([](auto& tensor) { tensor.name = "other"; }),
             contains("has no tensor \"model.layers.1.mlp.up_proj.weight\""));
  CHECK_THAT(error_for([](auto& tensor) {
               tensor.shape = {4, 5};
             }),
             contains("model.safetensors: tensor \"model.layers.1.mlp.up_proj.weight\"; got shape (4, 5); "
                      "expected (5, 4)"));
  CHECK_THAT(error_for([](auto& tensor) { tensor.shape = {20}; }),
             contains("got shape (20); expected (5, 4)"));
  CHECK_THAT(error_for([](auto& tensor) { tensor.dtype = "F64"; }),
             contains("got type F64; expected F32, F16 or BF16"));
  CHECK(error_for([](auto& tensor) { tensor.dtype = "F32"; }) == "nothing was thrown");
}

TEST_CASE("tensors that no model of this kind has are ignored") {
  CHECK(error_after([](auto& tensors, Json&) {
          tensors.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", "F64", {1}});
        }) == "nothing was thrown");
}

TEST_CASE("a path that holds no model is refused in one clear line") {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& name) {
    return input_error_of([&] { Checkpoint model(folder / name); });
  };
  CHECK_THAT(error("none"), contains("model directory") && contains("none not found; try a directory"));
  CHECK_THAT(error(""), contains("has no config.json"));
  write_model(folder);
  CHECK_THAT(error("model.safetensors"), contains("try the directory that holds it"));
  fs::remove(folder / "model.safetensors");
  CHECK_THAT(error(""), contains("has no weights; got 0 other safetensors files"));
}

TEST_CASE("one file of weights may have any name") {
  const TemporaryFolder folder;
  write_model(folder);
  fs::rename(folder / "model.safetensors", folder / "weights.safetensors");
  CHECK(Checkpoint(folder.path()).bytes() > 0);
  fs::copy_file(folder / "weights.safetensors", folder / "more.safetensors");
  CHECK_THAT(input_error_of([&] { Checkpoint model(folder.path()); }),
             contains("got 2 other safetensors files"));
}

/// Splits the model of `folder` into two shards, the tensors dealt out in turn, and returns the index.
Json make_shards(const TemporaryFolder& folder) {
  const io::File file(folder / "model.safetensors");
  const io::TensorTable table = io::read_safetensors_header(file);
  Json index = {{"metadata", {{"total_size", 1}}}, {"weight_map", Json::object()}};
  for (const std::size_t shard : {0, 1}) {
    const std::string name = shard == 0 ? "first.safetensors" : "second.safetensors";
    std::vector<io::TensorSpec> specs;
    std::vector<std::byte> bytes;
    std::size_t turn = 0;
    for (const auto& item : table) {
      if (turn++ % 2 != shard) continue;
      specs.push_back({item.first, item.second.dtype, item.second.shape});
      std::vector<std::byte> tensor(static_cast<std::size_t>(item.second.bytes));
      file.read_at(item.second.offset, tensor);
      bytes.insert(bytes.end(), tensor.begin(), tensor.end());
      index["weight_map"][item.first] = name;
    }
    io::SafetensorsWriter writer(folder / name, specs);
    writer.write(bytes);
    writer.finish();
  }
  fs::remove(folder / "model.safetensors");
  return index;
}

TEST_CASE("a model in shards holds what the model in one file holds") {
  const TemporaryFolder folder;
  for (const char* name : {"config.json", "model.safetensors"})
    fs::copy_file(golden("llama-odd") / name, folder / name);
  io::write_text(folder / "model.safetensors.index.json", io::to_text(make_shards(folder)));
  const Checkpoint shards(folder.path());
  const Checkpoint whole(golden("llama-odd"));
  CHECK(shards.bytes() == whole.bytes());
  for (const WeightId id : weights_of(whole.config())) CHECK(read_whole(shards, id) == read_whole(whole, id));
}

TEST_CASE("an index that is wrong is refused by name") {
  const TemporaryFolder folder;
  write_model(folder);
  const Json index = make_shards(folder);
  const auto error_with = [&](const Json& changed) {
    io::write_text(folder / "model.safetensors.index.json", io::to_text(changed));
    return input_error_of([&] { Checkpoint model(folder.path()); });
  };
  const auto mapped = [&](const Json& shard) {
    Json changed = index;
    changed["weight_map"]["model.norm.weight"] = shard;
    return changed;
  };
  CHECK(error_with(index) == "nothing was thrown");
  CHECK_THAT(error_with(mapped("third.safetensors")), contains("not there; got third.safetensors"));
  CHECK_THAT(error_with(mapped("../first.safetensors")),
             contains("the name of a file in the same directory"));
  CHECK_THAT(error_with(mapped("..")), contains("a directory"));
  CHECK_THAT(error_with(mapped("")), contains("the name of a file"));
  CHECK_THAT(error_with(mapped(7)), contains("model.norm.weight; got 7"));
  const std::string other = index["weight_map"]["model.norm.weight"] == "first.safetensors"
                                ? "second.safetensors"
                                : "first.safetensors";
  CHECK_THAT(error_with(mapped(other)), contains(other + " has no tensor \"model.norm.weight\""));
  Json lacking = index;
  lacking["weight_map"].erase("model.norm.weight");
  CHECK_THAT(error_with(lacking), contains("has no tensor \"model.norm.weight\""));
  CHECK_THAT(error_with(Json::object()), contains("weight_map; got nothing"));
}

TEST_CASE("a file that shrinks after it was opened is an InputError") {
  const TemporaryFolder folder;
  write_model(folder);
  const Checkpoint model(folder.path());
  fs::resize_file(folder / "model.safetensors", fs::file_size(folder / "model.safetensors") / 2);
  CHECK_THAT(input_error_of([&] { read_whole(model, {Weight::lm_head, 0}); }), contains("ends early"));
}

TEST_CASE("asking for a tensor that the model does not have is our mistake") {
  const Checkpoint model(golden("llama-gqa"));
  CHECK_THROWS_AS(model.dtype({Weight::q_bias, 0}), InternalError);
  CHECK_THROWS_AS(model.dtype({Weight::q, 2}), InternalError);
  CHECK_THROWS_AS(model.read_vector({Weight::q, 0}), InternalError);
}

}  // namespace
}  // namespace wafer::checkpoint

#include "reference/reference.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <numeric>

#include "core/error.hpp"
#include "reference/temporary_model.hpp"
#include "support/catch.hpp"

using namespace wafer;
using checkpoint::Checkpoint;
using reference::Reference;
using reference::Trace;
using test::contains;

namespace {

const std::string golden_dir = WAFER_GOLDEN_DIR;

/// Some ids, no two neighbours alike.
std::vector<Index> some_ids(Index count) {
  std::vector<Index> ids;
  for (Index i = 0; i < count; ++i) ids.push_back((i * 37 + 5) % 251);
  return ids;
}

/// Largest difference, relative to the largest value.
double difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  double error = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i]));
    error = std::max(error, std::abs(a[i] - b[i]));
  }
  return error / largest;
}

/// What feeding `ids` in pieces of the sizes given computes, put together.
Trace in_pieces(Reference& model, std::span<const Index> ids, const std::vector<Index>& sizes) {
  Trace whole;
  for (const Index size : sizes) {
    const Trace piece = model.forward(ids.first(at(size)));
    ids = ids.subspan(at(size));
    whole.logits.insert(whole.logits.end(), piece.logits.begin(), piece.logits.end());
    whole.hidden.resize(piece.hidden.size());
    for (std::size_t i = 0; i < piece.hidden.size(); ++i)
      whole.hidden[i].insert(whole.hidden[i].end(), piece.hidden[i].begin(), piece.hidden[i].end());
  }
  return whole;
}

/// The weights of llama-gqa with dynamic RoPE over a context of 16 tokens, stretched by 2.5.
void write_dynamic_model(const test::TemporaryModel& model) {
  const std::string source = golden_dir + "/llama-gqa/";
  std::filesystem::copy(source + "model.safetensors", model.path() / "model.safetensors");
  std::ifstream file(source + "config.json");
  std::string config((std::istreambuf_iterator<char>(file)), {});
  const auto change = [&config](const std::string& from, const std::string& to) {
    const auto place = config.find(from);
    REQUIRE(place != std::string::npos);
    config.replace(place, from.size(), to);
  };
  change(R"("max_position_embeddings": 256)", R"("max_position_embeddings": 16)");
  change(R"("rope_type": "default")", R"("rope_type": "dynamic", "factor": 2.5)");
  model.write_config(config);
}

}  // namespace

TEST_CASE("a sequence fed whole, token by token and in two halves gives the same") {
  const std::string name =
      GENERATE(as<std::string>{}, "llama-gqa", "llama-odd", "llama3-rope", "mistral-swa", "qwen2", "qwen3");
  CAPTURE(name);
  const Checkpoint checkpoint(golden_dir + "/" + name);
  const std::vector<Index> ids = some_ids(23);
  Reference model(checkpoint);
  const Trace whole = model.forward(ids);

  for (const std::vector<Index>& sizes : {std::vector<Index>(23, 1), {11, 12}, {0, 22, 0, 1}}) {
    model.reset();
    const Trace pieces = in_pieces(model, ids, sizes);
    CHECK(difference(pieces.logits, whole.logits) <= 1e-12);
    REQUIRE(pieces.hidden.size() == whole.hidden.size());
    for (std::size_t i = 0; i < whole.hidden.size(); ++i)
      CHECK(difference(pieces.hidden[i], whole.hidden[i]) <= 1e-12);
  }
}

TEST_CASE("a trace has one row per token and reports each layer") {
  const Checkpoint checkpoint(golden_dir + "/llama-odd");
  Reference model(checkpoint);
  std::vector<Index> done;

  const Trace trace = model.forward(some_ids(5), [&done](Index layers) { done.push_back(layers); });

  CHECK(trace.logits.size() == 5 * 311);
  REQUIRE(trace.hidden.size() == 4);
  for (const auto& hidden : trace.hidden) CHECK(hidden.size() == 5 * 80);
  CHECK(done == std::vector<Index>{1, 2, 3});
}

TEST_CASE("the order of the tokens matters, and what follows a token does not") {
  const Checkpoint checkpoint(golden_dir + "/llama-gqa");
  Reference model(checkpoint);
  const auto first_logits = [&model](const std::vector<Index>& ids) {
    model.reset();
    auto logits = model.forward(ids).logits;
    logits.resize(2 * 259);
    return logits;
  };

  const auto logits = first_logits({5, 6, 7});

  CHECK(difference(first_logits({5, 6, 9}), logits) == 0);
  CHECK(difference(first_logits({6, 5, 7}), logits) > 1e-3);
}

TEST_CASE("no tokens give empty results and change nothing") {
  const Checkpoint checkpoint(golden_dir + "/qwen3");
  Reference model(checkpoint);

  const Trace trace = model.forward({});

  CHECK(trace.logits.empty());
  REQUIRE(trace.hidden.size() == 3);
  for (const auto& hidden : trace.hidden) CHECK(hidden.empty());
}

TEST_CASE("an id outside the vocabulary is refused by name and leaves the sequence as it was") {
  const Checkpoint checkpoint(golden_dir + "/llama-gqa");
  Reference model(checkpoint);
  const std::vector<Index> ids = some_ids(4);
  const Trace whole = model.forward(ids);
  model.reset();
  model.forward(std::span(ids).first(3));

  CHECK_THROWS_WITH(model.forward(std::vector<Index>{1, 999}),
                    "token id 999 is not in the vocabulary; expected 0 to 258");
  CHECK_THROWS_AS(model.forward(std::vector<Index>{-1}), FitError);
  CHECK_THROWS_AS(model.forward(std::vector<Index>{259}), FitError);

  const Trace last = model.forward(std::span(ids).last(1));
  CHECK(std::equal(last.logits.begin(), last.logits.end(), whole.logits.end() - 259));
}

TEST_CASE("a forward that fails half way leaves the sequence as it was") {
  const Checkpoint checkpoint(golden_dir + "/llama-gqa");
  Reference model(checkpoint);
  const std::vector<Index> ids = some_ids(4);
  const Trace whole = model.forward(ids);
  model.reset();
  model.forward(std::span(ids).first(2));
  const auto stop = [](Index) { throw std::runtime_error("stopped"); };

  CHECK_THROWS_AS(model.forward(std::vector<Index>{9, 9, 9}, stop), std::runtime_error);

  const Trace rest = model.forward(std::span(ids).last(2));
  CHECK(std::equal(rest.logits.begin(), rest.logits.end(), whole.logits.end() - 2 * 259));
}

TEST_CASE("a sequence beyond the context is refused and told how much fits") {
  const Checkpoint checkpoint(golden_dir + "/llama-gqa");
  Reference model(checkpoint);
  model.forward(some_ids(200));

  CHECK_THROWS_WITH(model.forward(some_ids(57)), contains("257 tokens") && contains("at most 256") &&
                                                     contains("at most 56 after the 200 fed before"));
  CHECK_THROWS_AS(model.forward(some_ids(57)), FitError);
  CHECK(model.forward(some_ids(56)).logits.size() == 56 * 259);

  model.reset();
  CHECK_NOTHROW(model.forward(some_ids(1)));
}

TEST_CASE("dynamic RoPE stretches the context and changes nothing within it") {
  const test::TemporaryModel directory("dynamic");
  write_dynamic_model(directory);
  const Checkpoint stretched(directory.path());
  const Checkpoint standard(golden_dir + "/llama-gqa");
  Reference model(stretched);
  Reference plain(standard);

  CHECK(difference(model.forward(some_ids(16)).logits, plain.forward(some_ids(16)).logits) <= 1e-12);

  model.reset();
  plain.reset();
  const Trace longer = model.forward(some_ids(40));
  CHECK(difference(longer.logits, plain.forward(some_ids(40)).logits) > 1e-6);
  CHECK_THROWS_AS(model.forward(some_ids(1)), FitError);
}

TEST_CASE("dynamic RoPE keeps cached keys as they were rotated") {
  const test::TemporaryModel directory("dynamic_pieces");
  write_dynamic_model(directory);
  const Checkpoint checkpoint(directory.path());
  Reference model(checkpoint);
  const std::vector<Index> ids = some_ids(30);
  const Trace whole = model.forward(ids);

  model.reset();
  const Trace pieces = in_pieces(model, ids, {16, 14});

  CHECK(difference(pieces.hidden[0], whole.hidden[0]) == 0);
  CHECK(difference(pieces.logits, whole.logits) > 1e-9);  // the first 16 keys turned by another base
}

#include "checkpoint/golden.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "io/hdf5.hpp"
#include "reference/reference.hpp"
#include "support/catch.hpp"

using namespace wafer;
using checkpoint::Checkpoint;
using checkpoint::Golden;
using reference::Reference;
using reference::Trace;

namespace {

const std::string folio = std::string(WAFER_DATA_DIR) + "/folio";

/// sum (got - expected)^2 / sum expected^2.
double nmse(std::span<const double> got, std::span<const double> expected) {
  REQUIRE(got.size() == expected.size());
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    error += (got[i] - expected[i]) * (got[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  return error / norm;
}

/// Largest difference, relative to the largest value expected.
double max_error(std::span<const double> got, std::span<const double> expected) {
  REQUIRE(got.size() == expected.size());
  double error = 0;
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    error = std::max(error, std::abs(got[i] - expected[i]));
    largest = std::max(largest, std::abs(expected[i]));
  }
  return error / largest;
}

Index argmax(std::span<const double> values) {
  return std::max_element(values.begin(), values.end()) - values.begin();
}

/// Hidden states and logits of the model in `directory` against its golden.h5.
void check_forward(const std::string& directory) {
  const Checkpoint checkpoint(directory);
  const Golden golden = read_golden(directory + "/golden.h5", checkpoint.config());
  const std::size_t states = at(checkpoint.config().layers) + 1;
  const std::size_t size = golden.hidden.size() / states;
  Reference model(checkpoint);

  const Trace trace = model.forward(golden.input_ids);

  REQUIRE(trace.hidden.size() == states);
  for (std::size_t i = 0; i < states; ++i) {
    CAPTURE(i);
    CHECK(nmse(trace.hidden[i], std::span(golden.hidden).subspan(i * size, size)) <= 1e-12);
  }
  CHECK(max_error(trace.logits, golden.logits) <= 1e-6);
}

/// The greedy continuation, one token at a time.
void check_greedy(const std::string& directory) {
  const Checkpoint checkpoint(directory);
  const Golden golden = read_golden(directory + "/golden.h5", checkpoint.config());
  Reference model(checkpoint);

  Trace trace = model.forward(golden.prompt_ids);
  std::vector<Index> ids;
  for (std::size_t i = 0; i < golden.greedy_ids.size(); ++i) {
    if (i > 0) trace = model.forward(std::span(ids).last(1));
    ids.push_back(argmax(std::span(trace.logits).last(at(checkpoint.config().vocab))));
  }

  REQUIRE(!ids.empty());
  CHECK(ids == golden.greedy_ids);
}

/// Mean of -log p(next token) over a row of ids.
double mean_loss(Reference& model, std::span<const Index> ids) {
  const std::vector<double> logits = model.forward(ids).logits;
  const std::size_t vocab = logits.size() / ids.size();
  double loss = 0;
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
    const auto row = std::span(logits).subspan(i * vocab, vocab);
    const double largest = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (const double logit : row) sum += std::exp(logit - largest);
    loss += std::log(sum) + largest - row[at(ids[i + 1])];
  }
  return loss / static_cast<double>(ids.size() - 1);
}

}  // namespace

TEST_CASE("hidden states and logits are those of transformers") {
  const std::string name =
      GENERATE(as<std::string>{}, "llama-gqa", "llama-odd", "llama3-rope", "mistral-swa", "qwen2", "qwen3");
  CAPTURE(name);
  check_forward(std::string(WAFER_GOLDEN_DIR) + "/" + name);
}

TEST_CASE("greedy continuations are those of transformers") {
  const std::string name =
      GENERATE(as<std::string>{}, "llama-gqa", "llama-odd", "llama3-rope", "mistral-swa", "qwen2", "qwen3");
  CAPTURE(name);
  check_greedy(std::string(WAFER_GOLDEN_DIR) + "/" + name);
}

TEST_CASE("a trained model of bfloat16 weights computes what transformers does") {
  check_forward(folio);
  check_greedy(folio);
}

TEST_CASE("a trained model predicts text as well as with transformers") {
  const Checkpoint checkpoint(folio);
  const io::Hdf5Reader golden(folio + "/golden.h5");
  const std::vector<Index> ids = golden.read_indices("eval_ids");
  const std::vector<double> expected = golden.read_doubles("eval_nll");
  const std::size_t length = ids.size() / expected.size();
  Reference model(checkpoint);

  const double loss = mean_loss(model, std::span(ids).first(length));  // one row is enough, and seconds long

  CHECK(std::abs(loss - expected[0]) <= 1e-6 * expected[0]);
}

TEST_CASE("a model trained by others computes what transformers does") {
  const std::string stories = std::string(WAFER_DATA_DIR) + "/../../shared/models/stories260K";
  if (!std::filesystem::exists(stories)) {
    WARN("the model stories260K is not here");
    return;
  }
  check_forward(stories);
  check_greedy(stories);
}

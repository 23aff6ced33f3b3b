#include "checkpoint/golden.hpp"

#include <algorithm>

#include "checkpoint/checkpoint.hpp"
#include "io/hdf5.hpp"
#include "io/helpers.hpp"

namespace wafer::checkpoint {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::input_error_of;
using test::TemporaryFolder;

fs::path golden_file(const std::string& name) { return fs::path(WAFER_GOLDEN_DIR) / name / "golden.h5"; }

ModelConfig config_of(const fs::path& file) { return Checkpoint(file.parent_path()).config(); }

TEST_CASE("the golden files of the repository fit their models") {
  std::vector<fs::path> files = {fs::path(WAFER_DATA_DIR) / "folio" / "golden.h5"};
  for (const char* name : {"llama-gqa", "llama-odd", "llama3-rope", "mistral-swa", "qwen2", "qwen3"})
    files.push_back(golden_file(name));
  for (const fs::path& file : files) {
    INFO(file);
    const ModelConfig config = config_of(file);
    const Golden golden = read_golden(file, config);
    const std::size_t length = golden.input_ids.size();
    CHECK(golden.logits.size() == length * static_cast<std::size_t>(config.vocab));
    CHECK(golden.hidden.size() == length * static_cast<std::size_t>((config.layers + 1) * config.hidden));
    CHECK(golden.greedy_ids.size() == golden.greedy_gap.size());
    CHECK(*std::min_element(golden.greedy_gap.begin(), golden.greedy_gap.end()) > 0);
  }
}

TEST_CASE("without prompt_ids the greedy ids continue the input, and the last logits say so") {
  const fs::path file = golden_file("llama-gqa");
  const ModelConfig config = config_of(file);
  const Golden golden = read_golden(file, config);
  REQUIRE(golden.prompt_ids == golden.input_ids);
  const auto last = golden.logits.end() - config.vocab;
  CHECK(std::max_element(last, golden.logits.end()) - last == golden.greedy_ids[0]);
}

/// What a small golden file holds; the defaults fit the model below.
struct Example {
  Index vocab = 3;
  Index layers = 1;
  Index token = 2;
  bool greedy = true;
};

std::string error_of(const Example& example) {
  const TemporaryFolder folder;
  io::Hdf5Writer file(folder / "golden.h5");
  const auto zeros = [](Index count) { return std::vector<double>(static_cast<std::size_t>(count)); };
  file.write("input_ids", {2}, std::vector<Index>{0, example.token});
  file.write("logits", {2, example.vocab}, zeros(2 * example.vocab));
  file.write("hidden", {example.layers + 1, 2, 4}, zeros((example.layers + 1) * 8));
  if (example.greedy) file.write("greedy_ids", {1}, std::vector<Index>{1});
  file.write("greedy_gap", {1}, zeros(1));
  file.commit();
  ModelConfig config;
  config.hidden = 4;
  config.layers = 1;
  config.vocab = 3;
  config.context = 5;
  return input_error_of([&] { read_golden(folder / "golden.h5", config); });
}

TEST_CASE("a golden file of another model is refused by the dataset's name") {
  CHECK(error_of({}) == "nothing was thrown");
  CHECK_THAT(error_of({.vocab = 4}),
             contains("\"logits\"; got shape (2, 4); expected (2, 3) for this model"));
  CHECK_THAT(error_of({.layers = 2}), contains("\"hidden\"; got shape (3, 2, 4); expected (2, 2, 4)"));
  CHECK_THAT(error_of({.token = 3}), contains("\"input_ids\"; got token 3; expected 0 to 2"));
  CHECK_THAT(error_of({.token = -1}), contains("got token -1"));
  CHECK_THAT(error_of({.greedy = false}), contains("has no dataset \"greedy_ids\""));
  ModelConfig config = config_of(golden_file("qwen2"));
  config.context = 1;
  CHECK_THAT(input_error_of([&] { read_golden(golden_file("qwen2"), config); }),
             contains("a list of 1 to 1 tokens"));
}

}  // namespace
}  // namespace wafer::checkpoint

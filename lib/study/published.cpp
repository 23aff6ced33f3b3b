#include "study/published.hpp"

#include <algorithm>
#include <functional>

#include "core/error.hpp"

namespace wafer::study {

namespace {

Index padded(Index n, Index P) { return (n + P - 1) / P; }

// Two-byte elements, shifts cut to whole words: what the authors' kernels do.
constexpr plmr::Precision as_benchmarked{2, true};

}  // namespace

BenchmarkedTiles BenchmarkedModel::tiles(Index P, Index tokens) const {
  return {padded(hidden, P), padded(tokens, P), padded(ffn, P)};
}

double BenchmarkedModel::prefill_rate(const plmr::Device& device, Index P, Index tokens) const {
  plmr::Execution execution(device, {P, P}, as_benchmarked);
  const double cycles = measured_cycles(execution, [&] { benchmarked_prefill(execution, tiles(P, tokens)); });
  return static_cast<double>(tokens) * device.clock_hz / (cycles * static_cast<double>(layers));
}

double BenchmarkedModel::decode_rate(const plmr::Device& device, Index P, Index context) const {
  plmr::Execution execution(device, {P, P}, as_benchmarked);
  const Index groups = mesh::default_groups(P, 2);
  const double cycles =
      measured_cycles(execution, [&] { benchmarked_decode(execution, tiles(P, context), groups); });
  return device.clock_hz / (cycles * static_cast<double>(layers));
}

const std::vector<BenchmarkedModel>& benchmarked_models() {
  static const std::vector<BenchmarkedModel> models = {{"llama3-8b", 4096, 14336, 32, 1024},
                                                       {"llama2-13b", 5120, 13824, 40, 5120},
                                                       {"codellama-34b", 8192, 22016, 48, 1024},
                                                       {"qwen2-72b", 8192, 29568, 80, 1024}};
  return models;
}

const BenchmarkedModel& benchmarked_model(const std::string& name) {
  const auto& models = benchmarked_models();
  const auto model =
      std::find_if(models.begin(), models.end(), [&](const BenchmarkedModel& m) { return m.name == name; });
  if (model == models.end()) throw InputError({.what = "no model \"" + name + "\" was benchmarked"});
  return *model;
}

namespace {

using Maker = std::function<Table(const Sources&)>;
const std::vector<std::pair<std::string, Maker>>& makers() {
  static const std::vector<std::pair<std::string, Maker>> all = {
      {"table2", end_to_end_table},
      {"table3", prefill_table},
      {"table4", decode_table},
      {"table5", cache_table},
      {"table6", gemv_table},
      {"table7", [](const Sources& sources) { return energy_table(sources, false); }},
      {"table8", [](const Sources& sources) { return energy_table(sources, true); }},
      {"fig9", gemm_figure},
      {"fig10", gemv_figure},
      {"wse2-summa", summa_table},
      {"wse3-gemm", wse3_gemm_table},
      {"wse3-gemv", wse3_gemv_table},
      {"single-core", single_core_table},
      {"closed-forms", [](const Sources&) { return closed_forms_table(); }}};
  return all;
}

}  // namespace

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : makers()) names.push_back(name);
  return names;
}

Table make_table(const std::string& name, const Sources& sources) {
  for (const auto& [known, make] : makers())
    if (known == name) {
      Table table = make(sources);
      table.name = name;
      return table;
    }
  std::string names;
  for (const std::string& known : table_names()) names += known + ", ";
  throw UsageError({.what = "no table \"" + name + "\"", .expected = names + "or all"});
}

}  // namespace wafer::study

// Tables 2 to 8 of WaferLLM (OSDI 2025), as the authors' benchmark computes them.
#include <cmath>

#include <fmt/format.h>

#include "io/csv.hpp"
#include "study/published.hpp"

namespace wafer::study {

namespace {

constexpr Index context = 4096;  // of tables 3 and 4
const std::string calibration = "llama3-8b";

// Rows of one model are neighbours, in the order of their grids.
bool is_monotone(const std::vector<Comparison>& rows, bool rising, double undecided) {
  for (std::size_t r = 1; r < rows.size(); ++r) {
    const auto& before = rows[r - 1];
    const auto& row = rows[r];
    if (row.label.substr(0, row.label.find(' ')) != before.label.substr(0, before.label.find(' '))) continue;
    const double published = std::abs(row.published / before.published - 1.0);
    const double step = (rising ? 1.0 : -1.0) * (row.predicted / before.predicted - 1.0);
    if (published > undecided ? step <= 0.0 : step < -0.02) return false;
  }
  return true;
}

Table rates(const Sources& sources, bool decode) {
  const io::Csv csv(sources.paper / (decode ? "paper_decode.csv" : "paper_prefill.csv"));
  Table table;
  table.unit = "tokens/s";
  for (std::size_t r = 0; r < csv.rows(); ++r) {
    if (csv.text(r, "system") != "waferllm") continue;
    const std::string name = csv.text(r, "model");
    const auto P = static_cast<Index>(csv.number(r, "grid_or_gpus"));
    table.rows.push_back({fmt::format("{} {}x{}", name, P, P), "waferllm", csv.number(r, "tokens_per_s"),
                          name == calibration, [&device = sources.wse2, name, P, decode] {
                            const BenchmarkedModel& model = benchmarked_model(name);
                            return decode ? model.decode_rate(device, P, context)
                                          : model.prefill_rate(device, P, context);
                          }});
  }
  table.bounds = {{"waferllm", 4.0, 8.0}};
  table.note = "as benchmarked: one head, no mask, padded tiles, one layer times the number of layers";
  return table;
}

}  // namespace

Table prefill_table(const Sources& sources) {
  Table table = rates(sources, false);
  table.title = "prefill of 4096 tokens (table 3)";
  table.claims = {{"more cores make prefill faster in every model",
                   [](const std::vector<Comparison>& rows) { return is_monotone(rows, true, 0.0); }}};
  return table;
}

Table decode_table(const Sources& sources) {
  Table table = rates(sources, true);
  table.title = "decode with a context of 4096 tokens (table 4)";
  table.claims = {{"more cores make decode slower wherever the published rates differ by more than 3.5%",
                   [](const std::vector<Comparison>& rows) { return is_monotone(rows, false, 0.035); }}};
  return table;
}

Table end_to_end_table(const Sources& sources) {
  const io::Csv csv(sources.paper / "paper_end_to_end.csv");
  Table table;
  table.title = "end to end, input and output together (table 2)";
  table.unit = "tokens/s";
  table.note = "no transition is charged, as benchmarked; nothing here set a parameter";
  for (std::size_t r = 0; r < csv.rows(); ++r) {
    if (csv.text(r, "system") != "waferllm") continue;
    const std::string name = csv.text(r, "model");
    const std::string grid = csv.text(r, "grid");
    const Index prefill = std::stol(grid), decode = std::stol(grid.substr(grid.find('/') + 1));
    for (const auto& [input, output] :
         {std::pair<Index, Index>{2048, 128}, {4096, 128}, {2048, 2048}, {4096, 4096}})
      table.rows.push_back({fmt::format("{} {} in {} out {}", name, grid, input, output), "waferllm",
                            csv.number(r, fmt::format("in{}_out{}", input, output)), false,
                            [&device = sources.wse2, name, prefill, decode, in = input, out = output] {
                              const BenchmarkedModel& model = benchmarked_model(name);
                              const double prompt =
                                  static_cast<double>(in) / model.prefill_rate(device, prefill, in);
                              const double tokens =
                                  static_cast<double>(out) / model.decode_rate(device, decode, in);
                              return static_cast<double>(out) / (prompt + tokens);
                            }});
  }
  table.bounds = {{"waferllm", 8.0, 15.0}};
  return table;
}

namespace {

// Longest decode output: dimensions padded to 360, layers over the regions that the wafer's cores make up,
// no memory kept back. One row of cores holds the concat cache, all of them the shifted one.
Index cache_tokens(const plmr::Device& device, const BenchmarkedModel& model, Index P) {
  constexpr Index wafer_cores = 850'000;
  const auto tile = [P](Index n) { return (n + P - 1) / P; };
  const Index hidden = tile(model.hidden), ffn = tile(model.ffn), kv = tile(model.kv_hidden);
  const Index regions = wafer_cores / (P * P);
  const Index layers = (model.layers + regions - 1) / regions;
  const Index weights = layers * 2 * (2 * hidden * hidden + 2 * hidden * kv + 3 * hidden * ffn);
  return (device.sram_bytes - weights) / (layers * 2 * 2 * kv);
}

}  // namespace

Table cache_table(const Sources& sources) {
  const io::Csv csv(sources.paper / "paper_gemv_kv.csv");
  Table table;
  table.title = "longest decode output (table 5)";
  table.unit = "tokens";
  table.note =
      "a row of cores holds a concat cache; the shifted one is as many times longer as there are rows; "
      "13B: the rule that gives the 8B row exactly, shown, not asked";
  for (const auto& [name, P] : {std::pair<std::string, Index>{"llama3-8b", 360}, {"llama2-13b", 375}}) {
    double published[2] = {0, 0};
    for (std::size_t r = 0; r < csv.rows(); ++r)
      if (csv.text(r, "quantity") == "max_decode" && csv.text(r, "case") == name)
        published[csv.text(r, "system") == "shift" ? 1 : 0] = csv.number(r, "value");
    const auto tokens = [&device = sources.wse2, model = name, P = P] {
      return static_cast<double>(cache_tokens(device, benchmarked_model(model), P));
    };
    const std::string group = name == "llama3-8b" ? "8B" : "13B";
    table.rows.push_back({name + " concat", group, published[0], false, tokens});
    table.rows.push_back({name + " shift", group, published[1], false,
                          [tokens, P = P] { return tokens() * static_cast<double>(P); }});
    table.rows.push_back({name + " shift / concat", "ratio", published[1] / published[0], false,
                          [P = P] { return static_cast<double>(P); }});
  }
  table.bounds = {{"8B", 2.0, 2.0}, {"ratio", 3.0, 3.0}};
  return table;
}

Table gemv_table(const Sources& sources) {
  const io::Csv csv(sources.paper / "paper_gemv_kv.csv");
  Table table;
  table.title = "one GEMV of [1, N] x [N, N] in fp16 (table 6)";
  table.unit = "us";
  table.note = "on 720 x 720 cores with 24 groups; the grid is not published";
  for (std::size_t r = 0; r < csv.rows(); ++r) {
    if (csv.text(r, "system") != "meshgemv-wse2") continue;
    const auto n = static_cast<Index>(csv.number(r, "case"));
    for (const bool multicast : {false, true})
      table.rows.push_back(
          {fmt::format("N = {} {}", n, multicast ? "with the final multicast" : "reduction only"),
           multicast ? "multicast" : "reduction", 1e3 * csv.number(r, "value"), false,
           [&device = sources.wse2, n, multicast] {
             plmr::Execution execution(device, {720, 1}, {2, true});
             const Index tile = (n + 719) / 720;
             benchmarked_gemv(execution, tile, tile, 24, multicast);
             return 1e6 * plmr::to_cycles(execution.now()) / device.clock_hz;
           }});
  }
  table.bounds = {{"reduction", 8.0, 8.0}};
  return table;
}

Table energy_table(const Sources& sources, bool decode) {
  constexpr double gpu_watts = 400.0;
  const io::Csv csv(sources.paper / (decode ? "paper_decode.csv" : "paper_prefill.csv"));
  const Index P = decode ? 420 : 720;  // the fastest grid
  Table table;
  table.title = fmt::format("energy of A100s over the wafer's for {} ({})", decode ? "decode" : "prefill",
                            decode ? "table 8" : "table 7");
  table.unit = "x";
  table.note = "power times time: follows from the rates";
  for (const BenchmarkedModel& model : benchmarked_models()) {
    double wafer = 0.0;
    for (std::size_t r = 0; r < csv.rows(); ++r)
      if (csv.text(r, "model") == model.name && csv.text(r, "system") == "waferllm" &&
          csv.number(r, "grid_or_gpus") == static_cast<double>(P))
        wafer = csv.number(r, "tokens_per_s");
    for (std::size_t r = 0; r < csv.rows(); ++r) {
      if (csv.text(r, "model") != model.name || csv.text(r, "system") != "sglang-a100") continue;
      const std::string gpus = csv.text(r, "grid_or_gpus");
      const double count = gpus == "2x8" ? 16.0 : std::stod(gpus);
      const double share = count * gpu_watts / sources.wse2.power_watts / csv.number(r, "tokens_per_s");
      table.rows.push_back({fmt::format("{} {} A100", model.name, gpus), "energy", wafer * share,
                            model.name == calibration, [&device = sources.wse2, &model, share, P, decode] {
                              return share * (decode ? model.decode_rate(device, P, context)
                                                     : model.prefill_rate(device, P, context));
                            }});
    }
  }
  table.bounds = {{"energy", 4.0, 8.0}};
  return table;
}

}  // namespace wafer::study

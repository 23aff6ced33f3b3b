// Measurements of real wafers, and closed forms, held against the model.
#include <cmath>

#include <fmt/format.h>

#include "io/csv.hpp"
#include "plmr/line_reduction.hpp"
#include "study/published.hpp"

namespace wafer::study {

using plmr::Execution;

namespace {

// Cycles a step of SUMMA on P x P cores with square tiles: step s multicasts A's column s along the rows and
// B's row s along the columns, then multiplies. Two lengths, so that filling the wafer does not count.
double summa_step(const plmr::Device& device, Index P, Index tile) {
  const auto run = [&](Index steps) {
    Execution execution(device, {P, P}, {4, false});
    const std::vector<Index> words(at(P), execution.cost().stream_words(tile * tile));
    const plmr::Operator op(&execution, "summa");
    for (Index s = 0; s < steps; ++s) {
      plmr::multicast_in_turn(execution, mesh::Axis::x, s, words);
      plmr::multicast_in_turn(execution, mesh::Axis::y, s, words);
      const plmr::Ticks work = execution.cost().gemm(tile, tile, tile);
      execution.compute([work](Index, Index) { return work; });
    }
    return plmr::to_cycles(execution.now());
  };
  constexpr Index warm = 4, measured = 16;
  return (run(warm + measured) - run(warm)) / static_cast<double>(measured);
}

// Die borders spread evenly over the rows: floor(d / rows) of them in d hops are d / rows - 1/2 on average.
plmr::Device without_borders(plmr::Device device) {
  if (device.die_rows == 0) return device;
  device.hop += device.die_border / device.die_rows;
  device.operator_entry -= device.die_border / 2;
  device.die_rows = 0;
  return device;
}

}  // namespace

Table summa_table(const Sources& sources) {
  const io::Csv csv(sources.paper / "wse2_summa_fp32.csv");
  Table table;
  table.title = "the vendor's SUMMA example in fp32 on a real WSE-2";
  table.unit = "cycles a step";
  table.note =
      "three parameters of its own kernels are set by P = 750; t = 45, 46: bank conflicts, outside the "
      "model; 33,000 x 33,000: TFLOP/s at 0.85 GHz";
  const auto& device = sources.wse2_summa;
  for (std::size_t r = 0; r < csv.rows(); ++r) {
    const auto P = static_cast<Index>(csv.number(r, "P")), tile = static_cast<Index>(csv.number(r, "t"));
    table.rows.push_back({fmt::format("P = {} t = {}", P, tile), tile <= 32 ? "t <= 32" : "t > 32",
                          csv.number(r, "cycles_per_step"), P == 750 && tile <= 32,
                          [&device, P, tile] { return summa_step(device, P, tile); }});
  }
  table.rows.push_back({"33,000 x 33,000 on 750 x 750", "flops", 349.0, false, [&device] {
                          const double cycles = 750.0 * summa_step(device, 750, 44);
                          return 2e-12 * 33e3 * 33e3 * 33e3 * device.clock_hz / cycles;
                        }});
  table.bounds = {
      {"t <= 32", 3.0, 5.0}, {"t <= 32", 3.0, 5.0, true}, {"t > 32", 15.0, 15.0}, {"flops", 8.0, 8.0}};
  table.claims = {{"a step costs the same on every grid, within 1%", [](const std::vector<Comparison>& rows) {
                     for (const auto& a : rows)
                       for (const auto& b : rows) {
                         const auto tile = [](const std::string& label) {
                           return label.substr(label.find("t =") + 1);
                         };
                         if (a.group != "flops" && b.group == a.group && tile(a.label) == tile(b.label) &&
                             std::abs(a.predicted / b.predicted - 1.0) > 0.01)
                           return false;
                       }
                     return true;
                   }}};
  return table;
}

Table wse3_gemm_table(const Sources& sources) {
  const io::Csv csv(sources.paper / "wse3_meshgemm.csv");
  Table table;
  table.title = "MeshGEMM in fp16 on a real WSE-3";
  table.unit = "cycles";
  table.note = "shift, loop and call were set by the rows with P = 80";
  for (std::size_t r = 0; r < csv.rows(); ++r) {
    const auto value = [&](const char* name) { return static_cast<Index>(csv.number(r, name)); };
    const Index P = value("P"), m = value("M") / P, k = value("K") / P, n = value("N") / P;
    table.rows.push_back({fmt::format("P = {} tile {} {} {}", P, m, k, n), "gemm", csv.number(r, "cycles"),
                          P == 80, [&device = sources.wse3, P, m, k, n] {
                            Execution execution(device, {P, P}, {2, true});
                            return measured_cycles(execution, [&] { benchmarked_gemm(execution, m, k, n); });
                          }});
  }
  table.bounds = {{"gemm", 1.8, 6.0}};
  return table;
}

Table wse3_gemv_table(const Sources& sources) {
  const io::Csv csv(sources.paper / "wse3_meshgemv.csv");
  Table table;
  table.title = "MeshGEMV in fp16 on a real WSE-3";
  table.unit = "cycles";
  table.note = "hop, stage, operator entry and die border were set by the rows with P = 80 and 656";
  for (std::size_t r = 0; r < csv.rows(); ++r) {
    const auto value = [&](const char* name) { return static_cast<Index>(csv.number(r, name)); };
    const Index P = value("P"), k = value("M") / P, n = value("N") / P, groups = value("group_num");
    const auto predict = [P, k, n, groups](const plmr::Device& device) {
      Execution execution(device, {P, 1}, {2, true});
      return measured_cycles(execution, [&] { benchmarked_gemv(execution, k, n, groups); });
    };
    const std::string label = fmt::format("P = {} tile {} {} groups {}", P, k, n, groups);
    table.rows.push_back({label, P == 16 ? "P = 16" : "P > 16", csv.number(r, "cycles"), P == 80 || P == 656,
                          [predict, &device = sources.wse3] { return predict(device); }});
    if (P > 16)
      table.rows.push_back({label + ", no die borders", "no die borders", csv.number(r, "cycles"),
                            P == 80 || P == 656,
                            [predict, &device = sources.wse3] { return predict(without_borders(device)); }});
  }
  table.bounds = {{"P > 16", 0.4, 1.5}, {"no die borders", 1.2, 3.0}, {"P = 16", 8.0, 8.0}};
  return table;
}

Table single_core_table(const Sources& sources) {
  Table table;
  table.title = "one core of a WSE-2 in fp32";
  table.unit = "cycles";
  table.note =
      "vector operations and a matrix-vector product, from the vendor's documentation; they set "
      "operation, loop and call";
  const auto add = [&](const std::string& label, const std::string& group, double published, auto cycles) {
    table.rows.push_back({label, group, published, true, [&device = sources.wse2, cycles] {
                            return plmr::to_cycles(cycles(plmr::Cost(device, {4, false})));
                          }});
  };
  add("5124 elements", "vector", 5130, [](const plmr::Cost& cost) { return cost.vector(5124); });
  add("5124 elements, bank conflict", "vector", 10254,
      [](const plmr::Cost& cost) { return cost.vector_with_bank_conflict(5124); });
  const double products[] = {169.8, 458.8, 1029.8, 1678.8, 2692.8, 3701.8, 5152.8, 6521.8, 8412.8, 10144.8};
  for (Index n = 10; n <= 100; n += 10)
    add(fmt::format("{} x {} times a vector", n, n), "product", products[n / 10 - 1],
        [n](const plmr::Cost& cost) { return cost.gemv(n, (n + 3) / 4 * 4); });
  table.bounds = {{"vector", 0.001, 0.001, true}, {"product", 1.0, 1.0, true}};
  return table;
}

}  // namespace wafer::study

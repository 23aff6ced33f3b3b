// Reductions on a row of bare cores (no software but the ramps): Luczynski et al., HPDC 2024.
#include <cmath>

#include <fmt/format.h>

#include "plmr/line_reduction.hpp"
#include "study/published.hpp"

namespace wafer::study {

namespace {

constexpr double depth_cycles = 5.0;  // 2 ramps of 2 cycles, and one

// max(contention, energy over links + distance) + depth: the paper's model of a collective.
double closed_form(double contention, double energy, double links, double distance, double depth) {
  return std::max(contention, energy / links + distance) + depth_cycles * depth;
}

double star(double P, double B) { return B * (P - 1) + depth_cycles; }
double chain(double P, double B) { return B + (P - 1) + depth_cycles * (P - 1); }
double tree(double P, double B) {
  const double levels = std::log2(P);
  return closed_form(B * levels, B * P / 2 * levels, P - 1, P - 1, levels);
}
double two_phase(double P, double B) {
  const double group = std::ceil(std::sqrt(P));  // cores of a group, and groups
  const double energy = B * ((P - group) + (group - 1) * group);
  return closed_form(2 * B, energy, P - 1, P - 1, 2 * (group - 1));
}
double broadcast(double P, double B) { return B + (P - 1) + depth_cycles; }
double ring(double P, double B) {
  return 2 * (P - 1) * (depth_cycles + 2) - 2 + 2 * B * (P - 1) / P;  // every step over two hops
}

// The same by events: a stream from the first core to all others.
double broadcast_events(Index P, Index B) {
  plmr::Device bare;
  bare.word = bare.hop = plmr::ticks_per_cycle;
  bare.ramp = 2 * plmr::ticks_per_cycle;
  bare.stream_packet_bytes = bare.memory_word_bytes = 4;
  bare.max_elements = bare.vector_elements_16 = bare.vector_elements_32 = 1;
  plmr::Execution execution(bare, {1, P}, {4, false});
  const plmr::Operator op(&execution, "broadcast");
  const std::vector<Index> words = {B};
  plmr::multicast_lines(execution, mesh::Axis::x, {0, 1}, {0, P}, 0, words);
  return plmr::to_cycles(execution.now());
}

}  // namespace

Table closed_forms_table() {
  struct Line {
    double P, B, star, chain, tree, two_phase, broadcast, ring;
  };
  const Line lines[] = {{64, 1, 68, 379, 96, 135, 69, 882},
                        {64, 256, 16133, 634, 1566, 588, 324, 1384},
                        {512, 1, 516, 3067, 561, 733, 517, 7154},
                        {512, 64, 32709, 3130, 845, 858, 580, 7280},
                        {512, 256, 130821, 3322, 2349, 1238, 772, 7663}};
  Table table;
  table.title = "reductions on a row of bare cores (Luczynski et al., HPDC 2024)";
  table.unit = "cycles";
  table.note = "two-phase, tree and ring average the load over the links, so they are compared as formulas";
  for (const Line& line : lines) {
    const auto add = [&](const char* name, const char* group, double published, double predicted) {
      table.rows.push_back({fmt::format("{} P = {} words = {}", name, line.P, line.B), group, published,
                            false, [predicted] { return predicted; }});
    };
    add("star", "formulas", line.star, star(line.P, line.B));
    add("chain", "formulas", line.chain, chain(line.P, line.B));
    add("tree", "formulas", line.tree, tree(line.P, line.B));
    add("two-phase", "formulas", line.two_phase, two_phase(line.P, line.B));
    add("broadcast", "formulas", line.broadcast, broadcast(line.P, line.B));
    add("ring all-reduce", "formulas", line.ring, ring(line.P, line.B));
    add("broadcast by events", "events", line.broadcast,
        broadcast_events(static_cast<Index>(line.P), static_cast<Index>(line.B)));
  }
  table.bounds = {{"formulas", 0.5, 1.0}, {"events", 0.001, 0.001}};
  return table;
}

}  // namespace wafer::study

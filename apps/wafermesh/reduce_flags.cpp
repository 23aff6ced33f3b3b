#include "wafermesh/reduce_flags.hpp"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "core/error.hpp"
#include "wafermesh/common.hpp"

namespace wafer::app {

using fabric::ReduceShape;

namespace {

// The groups that a K-tree really has.
Index groups_of(const ReduceShape& shape, Index cores) {
  return shape.groups > 0 ? shape.groups : mesh::default_groups(cores, shape.levels);
}

Index parse_groups(const std::string& text, Index cores) {
  Index groups = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), groups);
  if (error != std::errc{} || stop != text.data() + text.size() || groups < 0)
    throw UsageError({.what = "--groups", .got = "\"" + text + "\"", .expected = "a number, or auto"});
  if (groups > cores)
    throw FitError(
        {.what = "--groups", .got = text, .expected = fmt::format("at most one group a core: {}", cores)});
  return groups;
}

}  // namespace

void ReduceFlags::add_to(CLI::App& command, const std::string& name) {
  command.add_option(name, algorithm, "how lines of cores add up")
      ->check(CLI::IsMember(names_of(fabric::all_reduce_algorithms())))
      ->capture_default_str();
  command
      .add_option(
          "--groups", groups,
          "groups of the K-tree's first level; 0: near the root of the line; auto: cheapest on --device")
      ->capture_default_str();
  command.add_option("--levels", levels, "K: levels of the tree")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
}

ReduceShape ReduceFlags::shape(const fabric::Fabric& fabric, Index cores,
                               const std::function<double(const ReduceShape&)>& cycles_of) const {
  ReduceShape shape{levels, 0, &fabric::all_reduce_algorithm(algorithm)};
  if (groups != "auto") {
    shape.groups = parse_groups(groups, cores);
    return shape;
  }
  if (algorithm != "ktree" || levels < 2)
    throw UsageError({.what = "--groups auto",
                      .got = algorithm != "ktree" ? algorithm : "one level",
                      .expected = "a K-tree of two or more levels"});
  if (fabric.execution() == nullptr)
    throw UsageError({.what = "--groups auto counts a device's cycles", .remedy = "--device wse2"});
  double least = INFINITY;
  Index best = 0;
  for (const Index count : groups_to_try(cores)) {
    shape.groups = count;
    const double cycles = cycles_of(shape);
    if (cycles < least) {
      least = cycles;
      best = count;
    }
  }
  shape.groups = best;
  return shape;
}

std::vector<Index> groups_to_try(Index cores) {
  constexpr Index short_line = 64;
  constexpr Index around = 4;
  std::vector<Index> counts;
  const auto root = static_cast<Index>(std::sqrt(static_cast<double>(cores)));
  for (Index count = 1; count <= cores; ++count)
    if (cores <= short_line || cores % count == 0 || std::abs(count - root) <= around)
      counts.push_back(count);
  return counts;
}

std::string to_text(const ReduceShape& shape, Index cores) {
  if (shape.chosen().name != "ktree") return std::string(shape.chosen().name);
  return fmt::format("K-tree of {} levels, {} groups", shape.levels, groups_of(shape, cores));
}

io::Json to_json(const ReduceShape& shape, Index cores) {
  io::Json json = {{"allreduce", shape.chosen().name}};
  if (shape.chosen().name == "ktree")
    json.update({{"levels", shape.levels}, {"groups", groups_of(shape, cores)}});
  return json;
}

}  // namespace wafer::app

#include "ops/argmax.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "core/error.hpp"
#include "fabric/all_reduce.hpp"
#include "plmr/line_reduction.hpp"

namespace wafer::ops {

namespace {

// (value, id): the id's bits travel in a float.
float to_word(Index id) { return std::bit_cast<float>(static_cast<std::uint32_t>(id)); }
Index to_id(float word) { return static_cast<Index>(std::bit_cast<std::uint32_t>(word)); }

void keep_better(std::span<const float> other, std::span<float> best) {
  const bool wins = other[0] > best[0] || (other[0] == best[0] && to_id(other[1]) < to_id(best[1]));
  if (wins) std::copy(other.begin(), other.end(), best.begin());
}

// Every core learns the id: one word along the root's row, then along the columns.
void charge_answer(const fabric::Fabric& fabric, Index root_row) {
  if (fabric.execution() == nullptr) return;
  const mesh::Mesh mesh = fabric.mesh();
  const std::vector<Index> word(at(std::max(mesh.height, mesh.width)), 1);
  plmr::multicast_lines(*fabric.execution(), mesh::Axis::y, {0, mesh.width}, {0, mesh.height}, root_row,
                        std::span(word).first(at(mesh.width)));
}

}  // namespace

Index argmax(const fabric::Fabric& fabric, const fabric::Blocks& logits, Index root_row) {
  const auto& vocabulary = logits.placement().cols();
  const plmr::Operator charged(fabric.execution(), "argmax");
  fabric.enter();
  fabric.charge([&](const plmr::Cost& cost, mesh::CoreCoord core) {
    return core.y == root_row ? cost.maxima(vocabulary.size(core.x)) : plmr::Ticks{0};
  });
  constexpr auto none = std::numeric_limits<std::uint32_t>::max();
  std::array<float, 2> best = {-std::numeric_limits<float>::infinity(), to_word(none)};
  const fabric::AllReduce row(fabric, mesh::Axis::x, {{root_row, {0, fabric.mesh().width}}});
  row.run({[](Index) { return Index{2}; },
           [&](Index, Index x, std::span<float> own) {
             own[0] = -std::numeric_limits<float>::infinity();
             own[1] = to_word(none);
             const auto values = logits.vector(x);
             for (std::size_t k = 0; k < values.size(); ++k) {
               if (!(values[k] >= own[0])) continue;  // most of a vocabulary
               const std::array<float, 2> candidate = {values[k], to_word(vocabulary.indices(x)[k])};
               keep_better(candidate, own);
             }
             return own;
           },
           keep_better, [&](Index) { return std::span<float>(best); }, fabric::Stream::pairs});
  charge_answer(fabric, root_row);
  if (fabric.dry()) return 0;
  const mesh::Rank root = fabric.tiling().rank_of({root_row, 0});
  const Index id = fabric.communicator().broadcast(static_cast<std::int64_t>(to_id(best[1])), root);
  WAFER_CHECK(id != static_cast<Index>(none), "no logit is a number");
  return id;
}

}  // namespace wafer::ops

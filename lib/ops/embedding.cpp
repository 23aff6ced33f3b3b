#include "ops/embedding.hpp"

#include <map>
#include <utility>

#include "fabric/multicast.hpp"
#include "fabric/redistribute.hpp"
#include "plmr/line_reduction.hpp"
#include "plmr/transfer.hpp"

namespace wafer::ops {

using fabric::Blocks, fabric::Fabric, fabric::Placement;
using mesh::CoreCoord;

namespace {

// Column `id` of the table's block on row y, at the core that holds it.
void look_up(const Blocks& table, Index y, Index id, std::span<float> slice) {
  const auto& vocabulary = table.placement().cols();
  const TypedView block = table.typed(y, vocabulary.part_of(id));
  for (Index e = 0; e < block.rows(); ++e) slice[at(e)] = block.at(e, vocabulary.place_of(id));
}

// The redistribution of a prompt's rows, as if the vocabulary's columns held the tokens in turn: what an
// execution costs does not depend on the text.
void charge_embedding(const Fabric& table_fabric, const Partition& table_features, const Fabric& fabric,
                      const Partition& tokens, const Partition& features) {
  if (fabric.execution() == nullptr) return;
  std::map<std::pair<Index, Index>, Index> shared;  // features of a row of the table and a column of the mesh
  for (Index e = 0; e < features.length(); ++e) ++shared[{table_features.part_of(e), features.part_of(e)}];
  plmr::Transfer transfer(*fabric.execution(), table_fabric.mesh());
  for (Index t = 0; t < tokens.length(); ++t)
    for (const auto& [rows, count] : shared)
      transfer.send({rows.first, t % table_fabric.mesh().width}, {tokens.part_of(t), rows.second},
                    fabric.execution()->cost().shift_words(count));
  transfer.finish();
}

// The multicast of a row's slice along X, as if from the farthest column.
void charge_token(const Fabric& fabric, const Partition& features) {
  if (fabric.execution() == nullptr) return;
  std::vector<Index> words;
  for (const Index size : features.sizes()) words.push_back(fabric.execution()->cost().stream_words(size));
  const mesh::Mesh mesh = fabric.mesh();
  plmr::multicast_lines(*fabric.execution(), mesh::Axis::x, {0, mesh.height}, {0, mesh.width}, 0, words);
}

}  // namespace

Blocks embed(const Fabric& table_fabric, const Blocks& table, std::span<const Index> ids,
             const Fabric& fabric, const Partition& tokens, const Partition& features) {
  const plmr::Operator charged(fabric.execution(), "embedding");
  charge_embedding(table_fabric, table.placement().rows(), fabric, tokens, features);
  const auto& vocabulary = table.placement().cols();
  std::vector<std::vector<Index>> tokens_of(at(vocabulary.parts()));  // by owner column
  for (std::size_t t = 0; t < ids.size(); ++t)
    tokens_of[at(vocabulary.part_of(ids[t]))].push_back(static_cast<Index>(t));
  const Fabric from = table_fabric.without_execution();
  Blocks found(from, Placement::turned(Partition::of_lists(tokens_of), table.placement().rows()));
  table_fabric.for_cores([&](CoreCoord core) {
    const auto& mine = tokens_of[at(core.x)];
    for (std::size_t k = 0; k < mine.size(); ++k)
      look_up(table, core.y, ids[at(mine[k])], found(core.x, core.y).row(static_cast<Index>(k)));
  });
  Blocks X(fabric, Placement::plain(tokens, features));
  if (!fabric.dry()) fabric::redistribute(from, found, fabric.without_execution(), X);
  return X;
}

Blocks embed_token(const Fabric& fabric, const Blocks& table, Index id) {
  const plmr::Operator charged(fabric.execution(), "embedding");
  charge_token(fabric, table.placement().rows());
  Blocks x(fabric, Placement::copied(mesh::Axis::x, table.placement().rows()));
  if (fabric.dry()) return x;
  const Index owner = table.placement().cols().part_of(id);
  const Index width = fabric.mesh().width;
  std::vector<fabric::Multicast> rows;
  const mesh::Range tile = fabric.tile().rows;
  for (Index y = tile.begin; y < tile.end && fabric.tile().cores() > 0; ++y) {
    rows.push_back({y, {0, width}, owner, table.placement().rows().size(y)});
    if (table.here(y, owner)) look_up(table, y, id, x.vector(y));
  }
  fabric::multicast(fabric, mesh::Axis::x, rows, [&](Index row) { return x.vector(rows[at(row)].line); });
  return x;
}

}  // namespace wafer::ops

#include "ops/embedding.hpp"

#include "fabric/redistribute.hpp"

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

}  // namespace

Blocks embed(const Fabric& table_fabric, const Blocks& table, std::span<const Index> ids,
             const Fabric& fabric, const Partition& tokens, const Partition& features) {
  const auto& vocabulary = table.placement().cols();
  std::vector<std::vector<Index>> tokens_of(at(vocabulary.parts()));  // by owner column
  for (std::size_t t = 0; t < ids.size(); ++t)
    tokens_of[at(vocabulary.part_of(ids[t]))].push_back(static_cast<Index>(t));
  Blocks found(table_fabric, Placement::turned(Partition::of_lists(tokens_of), table.placement().rows()));
  table_fabric.for_cores([&](CoreCoord core) {
    const auto& mine = tokens_of[at(core.x)];
    for (std::size_t k = 0; k < mine.size(); ++k)
      look_up(table, core.y, ids[at(mine[k])], found(core.x, core.y).row(static_cast<Index>(k)));
  });
  Blocks X(fabric, Placement::plain(tokens, features));
  fabric::redistribute(table_fabric, found, fabric, X);
  return X;
}

Blocks embed_token(const Fabric& fabric, const Blocks& table, Index id) {
  const Index owner = table.placement().cols().part_of(id);
  const auto& features = table.placement().rows();
  Blocks found(fabric, Placement(Partition::even(1, 1), features, [owner](Index, Index y) {
                 return CoreCoord{y, owner};
               }));
  for (Index y = 0; y < features.parts(); ++y)
    if (found.here(0, y)) look_up(table, y, id, found.vector(y));
  Blocks x(fabric, Placement::copied(mesh::Axis::x, features));
  fabric::redistribute(fabric, found, fabric, x);
  return x;
}

}  // namespace wafer::ops

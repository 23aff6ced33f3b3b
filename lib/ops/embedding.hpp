#pragma once

#include "fabric/blocks.hpp"

namespace wafer::ops {

/// Rows of the embedding for a prompt. The table rests where decode wants it, E_y V_x; the cores that hold a
/// token's column send its slices to where the prefill's residual lies.
///
/// @param table (E, V)  plain on `table_fabric`   @param ids (T)
/// @return (T, E)  plain on `fabric`: tokens over rows, features over columns
/// Collective. Cost: one redistribution of T E words.
fabric::Blocks embed(const fabric::Fabric& table_fabric, const fabric::Blocks& table,
                     std::span<const Index> ids, const fabric::Fabric& fabric, const Partition& tokens,
                     const Partition& features);

/// The embedding of one token (decode): the owner column multicasts its slices along X.
///
/// @return (E)  copied along X
/// Collective.
fabric::Blocks embed_token(const fabric::Fabric& fabric, const fabric::Blocks& table, Index id);

}  // namespace wafer::ops

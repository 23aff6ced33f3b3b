#pragma once

#include <vector>

#include "plmr/execution.hpp"

namespace wafer::plmr {

/// Many messages at once between any cores of two meshes that lie on the same wafer, both from its first core
/// on: X first, then Y. The whole takes as long as the busiest link or ramp has words, and the longest path;
/// where a core has more partners than its router has routes, the rest are staged one by one.
///
/// Cost: a few additions a message, then one pass over the links.
class Transfer {
public:
  /// @param from mesh of the senders   `execution` keeps the receivers' time.
  Transfer(Execution& execution, mesh::Mesh from);

  /// `words` from a core of the senders' mesh to one of the receivers'; nothing where that is the same core.
  void send(mesh::CoreCoord from, mesh::CoreCoord to, Index words);
  /// The same words from the first core of a line of the receivers' mesh to all others.
  void spread(mesh::Axis axis, Index line, Index words);

  /// Cores that take part go on together when all is there.
  void finish();

private:
  std::size_t core(mesh::CoreCoord place) const { return at(place.y * grid_.width + place.x); }
  Ticks busiest();
  Execution& execution_;
  mesh::Mesh grid_;  // holds both meshes
  // Words over the links that leave a core eastwards and so on, as differences along the line.
  std::vector<Index> east_, west_, south_, north_;
  std::vector<Index> sent_, received_;  // words through the ramps
  std::vector<Index> partners_;
  std::int64_t messages_ = 0, words_ = 0, word_hops_ = 0;
  Index longest_ = 0;
  Ticks longest_latency_ = 0;
};

}  // namespace wafer::plmr

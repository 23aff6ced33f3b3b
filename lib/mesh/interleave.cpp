#include "mesh/interleave.hpp"

#include <algorithm>

namespace wafer::mesh {

RingPartners interleave(Index place, Index n) {
  if (n <= 2) return {n - 1 - place, n - 1 - place};
  RingPartners partners;
  if (place % 2 == 0) {
    partners = {.send = std::min(place + 2, n - 1), .receive = std::max(place - 2, Index{0})};
  } else {
    partners = {.send = std::max(place - 2, Index{0}), .receive = std::min(place + 2, n - 1)};
  }
  if (place == 0) partners.receive = 1;
  if (place == n - 1) (n % 2 == 0 ? partners.receive : partners.send) = n - 2;
  return partners;
}

RingPos interleaved_position(Index place, Index n) {
  return {place % 2 == 1 ? (place + 1) / 2 : (n - place / 2) % n};
}

Index interleaved_place(RingPos position, Index n) {
  const Index o = position.value;
  if (o == 0) return 0;
  return o <= n / 2 ? 2 * o - 1 : 2 * (n - o);
}

}  // namespace wafer::mesh

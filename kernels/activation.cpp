#include "kernels/activation.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace wafer::kernels {

void silu_product(std::span<const float> gate, std::span<const float> up, std::span<float> y) {
  assert(gate.size() == up.size() && gate.size() == y.size());
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = gate[i] / (1.0F + std::exp(-gate[i])) * up[i];
}

void add(std::span<const float> y, std::span<float> x) {
  assert(x.size() == y.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

void maximum(std::span<const float> y, std::span<float> x) {
  assert(x.size() == y.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::max(x[i], y[i]);
}

}  // namespace wafer::kernels

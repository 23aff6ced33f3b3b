#include "kernels/activation.hpp"

#include <algorithm>
#include <cassert>

#include "core/vector_clones.hpp"
#include "kernels/exponential.hpp"

namespace wafer::kernels {

namespace {

WAFER_VECTOR_CLONES void silu_times(const float* gate, const float* up, float* y, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) y[k] = gate[k] / (1.0F + exponential(-gate[k])) * up[k];
}

}  // namespace

void silu_product(std::span<const float> gate, std::span<const float> up, std::span<float> y) {
  assert(gate.size() == up.size() && gate.size() == y.size());
  silu_times(gate.data(), up.data(), y.data(), y.size());
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

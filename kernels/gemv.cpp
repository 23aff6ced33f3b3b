#include "kernels/gemv.hpp"

#include "core/vector_clones.hpp"

namespace wafer::kernels {

namespace {

float widened(float value) { return value; }
struct Bf16 {
  std::uint16_t bits;
};
float widened(Bf16 value) { return float_of_bf16(value.bits); }
struct F16 {
  std::uint16_t bits;
};
float widened(F16 value) { return float_of_f16(value.bits); }

// Four rows at a time, so that c is read and written a quarter as often; added one by one, in the rows'
// order.
template <class T>
inline __attribute__((always_inline)) void add_rows(const float* a, const T* B, Index k, Index n,
                                                    float* __restrict c) {
  Index row = 0;
  for (; row + 4 <= k; row += 4, B += 4 * n)
    for (Index j = 0; j < n; ++j) {
      float sum = c[j] + a[row] * widened(B[j]);
      sum += a[row + 1] * widened(B[n + j]);
      sum += a[row + 2] * widened(B[2 * n + j]);
      c[j] = sum + a[row + 3] * widened(B[3 * n + j]);
    }
  for (; row < k; ++row, B += n)
    for (Index j = 0; j < n; ++j) c[j] += a[row] * widened(B[j]);
}

WAFER_VECTOR_CLONES void add_f32(const float* a, const float* B, Index k, Index n, float* c) {
  add_rows(a, B, k, n, c);
}
WAFER_VECTOR_CLONES void add_bf16(const float* a, const Bf16* B, Index k, Index n, float* c) {
  add_rows(a, B, k, n, c);
}
WAFER_VECTOR_CLONES void add_f16(const float* a, const F16* B, Index k, Index n, float* c) {
  add_rows(a, B, k, n, c);
}

}  // namespace

void gemv_add(std::span<const float> a, TypedView B, std::span<float> c) {
  assert(static_cast<Index>(a.size()) == B.rows() && static_cast<Index>(c.size()) == B.cols());
  switch (B.type) {
  case DType::f32:
    return add_f32(a.data(), B.as_f32(), B.rows(), B.cols(), c.data());
  case DType::bf16:
    return add_bf16(a.data(), reinterpret_cast<const Bf16*>(B.data), B.rows(), B.cols(), c.data());
  case DType::f16:
    return add_f16(a.data(), reinterpret_cast<const F16*>(B.data), B.rows(), B.cols(), c.data());
  }
}

}  // namespace wafer::kernels

#include "kernels/rounding.hpp"

#include <algorithm>

namespace wafer::kernels {

void round_to(DType type, std::span<float> x) {
  switch (type) {
  case DType::f32:
    return;
  case DType::bf16:
    for (float& value : x) value = float_of_bf16(bf16_of(value));
    return;
  case DType::f16:
    for (float& value : x) value = float_of_f16(f16_of(value));
    return;
  }
}

void narrow(DType type, std::span<const float> from, std::byte* to) {
  auto* bits = reinterpret_cast<std::uint16_t*>(to);
  switch (type) {
  case DType::f32:
    std::copy(from.begin(), from.end(), reinterpret_cast<float*>(to));
    return;
  case DType::bf16:
    std::transform(from.begin(), from.end(), bits, bf16_of);
    return;
  case DType::f16:
    std::transform(from.begin(), from.end(), bits, f16_of);
    return;
  }
}

}  // namespace wafer::kernels

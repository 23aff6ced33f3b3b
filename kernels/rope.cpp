#include "kernels/rope.hpp"

#include <cassert>

namespace wafer::kernels {

void rotate(std::span<float> first, std::span<float> second, std::span<const float> cosine,
            std::span<const float> sine, float scale) {
  assert(first.size() == second.size() && first.size() == cosine.size() && first.size() == sine.size());
  for (std::size_t j = 0; j < first.size(); ++j) {
    const float a = first[j];
    const float b = second[j];
    first[j] = (a * cosine[j] - b * sine[j]) * scale;
    second[j] = (b * cosine[j] + a * sine[j]) * scale;
  }
}

}  // namespace wafer::kernels

#include "plmr/cost.hpp"

#include <algorithm>
#include <numeric>

namespace wafer::plmr {

Cost::Cost(const Device& device, Precision precision)
    : device_(&device),
      precision_(precision),
      words_(std::max(Index{1}, device.memory_word_bytes / precision.element_bytes)),
      vector_(std::max(
          Index{1}, precision.element_bytes == 2 ? device.vector_elements_16 : device.vector_elements_32)) {
  vector_ticks_.reserve(tabulated);
  axpy_ticks_.reserve(tabulated);
  for (Index n = 0; n < tabulated; ++n) {
    vector_ticks_.push_back(vector_of(n, false));
    axpy_ticks_.push_back(axpy_of(n));
  }
}

Index Cost::touched(Index n) const { return n == 0 ? 0 : n + words_ - std::gcd(n, words_); }

Ticks Cost::vector_of(Index n, bool bank_conflict) const {
  if (n == 0) return 0;
  const Index cycles = (n + vector_ - 1) / vector_;
  return device_->operation + (bank_conflict ? 2 : 1) * cycles * ticks_per_cycle;
}

Ticks Cost::maxima(Index n) const {
  if (precision_.element_bytes == 4) return vector(n);
  const Index cycles = (n + device_->max_elements - 1) / device_->max_elements;
  return n == 0 ? 0 : device_->operation + cycles * ticks_per_cycle;
}

Index Cost::stream_words(Index n) const {
  const Index packet = device_->stream_packet_bytes;
  return (n * precision_.element_bytes + packet - 1) / packet * (packet / 4);
}

Index Cost::max_words(Index n) const {
  if (precision_.element_bytes == 4) return stream_words(n);
  const Index elements = device_->max_elements;
  return (n + elements - 1) / elements * (device_->stream_packet_bytes / 4);
}

}  // namespace wafer::plmr

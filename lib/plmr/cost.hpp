#pragma once

#include <vector>

#include "plmr/device.hpp"

namespace wafer::plmr {

/// Blocks of how many bytes an element are stored and sent, and how the authors' benchmark is to be followed.
struct Precision {
  Index element_bytes = 4;
  bool truncate_shifts = false;  // an odd 16-bit element at the end of a shift is not sent
};

/// What local work costs and how many 32-bit words a block is, on one device at one precision. Formulas and
/// their evidence: docs/model.md.
class Cost {
public:
  Cost(const Device& device, Precision precision);

  /// C += A B of one core, A (m, k), B (k, n): k (loop + n (call + accumulate T(m))), where T(m) is the mean
  /// number of aligned memory words that a column of m elements touches.
  Ticks gemm(Index m, Index k, Index n) const { return m == 0 || n == 0 ? 0 : k * gemm_column(m, n); }
  /// One column of the left operand in such a product. @pre m, n > 0
  Ticks gemm_column(Index m, Index n) const { return device_->loop + n * axpy(m); }
  /// a B of one core, B (k, n).
  Ticks gemv(Index k, Index n) const { return k == 0 || n == 0 ? 0 : device_->loop + k * axpy(n); }
  /// An elementwise operation over n numbers; half as fast where both operands lie in one memory bank.
  Ticks vector(Index n) const { return n < tabulated ? vector_ticks_[at(n)] : vector_of(n, false); }
  Ticks vector_with_bank_conflict(Index n) const { return vector_of(n, true); }
  /// The same where maxima are kept.
  Ticks maxima(Index n) const;
  /// One multiply-accumulate call over n elements.
  Ticks axpy(Index n) const { return n < tabulated ? axpy_ticks_[at(n)] : axpy_of(n); }

  /// Words of an asynchronous shift of n elements.
  Index shift_words(Index n) const {
    const Index bytes = n * precision_.element_bytes;
    return (precision_.truncate_shifts ? bytes : bytes + 3) / 4;
  }
  /// Words of a synchronous stream of n elements, and of one that keeps maxima.
  Index stream_words(Index n) const;
  Index max_words(Index n) const;

  const Device& device() const { return *device_; }
  Precision precision() const { return precision_; }

private:
  Ticks axpy_of(Index n) const { return device_->call + device_->accumulate * touched(n) / words_; }
  Ticks vector_of(Index n, bool bank_conflict) const;
  // words_ T(n): a column of n elements begins anywhere in a memory word of words_ elements.
  Index touched(Index n) const;
  const Device* device_;
  Precision precision_;
  Index words_;   // elements of a memory word
  Index vector_;  // elements a cycle
  // What they cost up to some length: these are asked for every core of every operator.
  static constexpr Index tabulated = 1024;
  std::vector<Ticks> vector_ticks_;
  std::vector<Ticks> axpy_ticks_;
};

}  // namespace wafer::plmr

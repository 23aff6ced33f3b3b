#pragma once

#include <span>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "tensor/view.hpp"

namespace wafer::reference {

/// Rows first .. first + count - 1 of a matrix W (out, in), widened to double: (count, in).
std::vector<double> read_rows(const checkpoint::Checkpoint& checkpoint, checkpoint::WeightId matrix,
                              Index first, Index count);

/// x W^T for a matrix W (out, in) of the model: (T, out).
///
/// Holds a bounded piece of W at a time and reads W once, whatever the number of tokens.
/// @param x (T, in)
std::vector<double> linear(const checkpoint::Checkpoint& checkpoint, checkpoint::WeightId matrix,
                           std::span<const double> x);

/// Adds a vector (n) of the model to each row of (T, n).
void add_bias(const checkpoint::Checkpoint& checkpoint, checkpoint::WeightId bias, std::span<double> rows);

}  // namespace wafer::reference

#pragma once

#include <span>
#include <vector>

#include "checkpoint/config.hpp"
#include "tensor/view.hpp"

namespace wafer::reference {

/// Radians per position by which RoPE turns the pair (j, j + d/2), for j = 0 .. d/2 - 1.
///
/// `length` is the sequence's length [tokens]; it matters to dynamic RoPE only.
std::vector<double> rope_frequencies(const checkpoint::ModelConfig& config, Index length);

/// The factor on the cosines and sines: 1 but for yarn.
double rope_attention_factor(const checkpoint::RopeConfig& rope);

/// Cosines and sines of some neighbouring positions, times the attention factor.
struct Rotation {
  std::vector<double> cosines;  // (T, d/2)
  std::vector<double> sines;    // (T, d/2)
};

/// The rotation of `tokens` positions from `first` on, the last of which ends the sequence.
Rotation make_rotation(const checkpoint::ModelConfig& config, Index first, Index tokens);

/// Turns each head of each token: (a, b) of the pair (j, j + d/2) becomes (a cos - b sin, b cos + a sin).
///
/// @param rows (T, heads d)
void rotate(std::span<double> rows, const Rotation& rotation, Index head_dim);

}  // namespace wafer::reference

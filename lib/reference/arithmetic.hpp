#pragma once

#include <span>
#include <vector>

namespace wafer::reference {

/// sum_i a[i] b[i]. @pre equal lengths
double dot(std::span<const double> a, std::span<const double> b);

/// Each row x of `rows` becomes weight * x / sqrt(mean(x^2) + eps).
///
/// @param rows   (T, n)
/// @param weight (n)
/// Returns (T, n).
std::vector<double> rms_norm(std::span<const double> rows, std::span<const float> weight, double eps);

/// values[i] becomes exp(values[i]) / sum_j exp(values[j]). @pre not empty
void softmax(std::span<double> values);

/// x / (1 + exp(-x)).
double silu(double x);

}  // namespace wafer::reference

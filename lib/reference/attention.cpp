#include "reference/attention.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "reference/arithmetic.hpp"

namespace wafer::reference {
namespace {

using Rows = MatrixView<const double>;

/// out = softmax(q K^T / sqrt(d)) V for one query and one head.
///
/// @param q, out       (d)
/// @param keys, values (visible tokens, d)
void attend(std::span<const double> q, Rows keys, Rows values, std::span<double> out) {
  const double scale = 1 / std::sqrt(static_cast<double>(q.size()));
  std::vector<double> weights(at(keys.rows()));
  for (Index j = 0; j < keys.rows(); ++j) weights[at(j)] = dot(q, keys.row(j)) * scale;
  softmax(weights);
  for (Index j = 0; j < values.rows(); ++j) {
    const auto value = values.row(j);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += weights[at(j)] * value[i];
  }
}

}  // namespace

std::vector<double> attention(const checkpoint::ModelConfig& config, Index window, std::span<const double> q,
                              std::span<const double> keys, std::span<const double> values) {
  const Index d = config.head_dim;
  const Index width = config.heads * d;
  const Index kv_width = config.kv_heads * d;
  const Index tokens = static_cast<Index>(q.size()) / width;
  const Index length = static_cast<Index>(keys.size()) / kv_width;
  WAFER_CHECK(tokens <= length && keys.size() == values.size(), "queries without their keys or values");

  std::vector<double> out(q.size());  // zero: attend() adds to it
  const Rows all_keys(keys.data(), {length, kv_width});
  const Rows all_values(values.data(), {length, kv_width});
  const Rows queries(q.data(), {tokens, width});
  const MatrixView outputs(out.data(), {tokens, width});
  for (Index token = 0; token < tokens; ++token) {
    const Index end = length - tokens + token + 1;
    const Index begin = window == 0 ? 0 : std::max<Index>(0, end - window);
    for (Index head = 0; head < config.heads; ++head) {
      const Index kv_column = head / config.group() * d;
      attend(queries.block(token, head * d, {1, d}).row(0),
             all_keys.block(begin, kv_column, {end - begin, d}),
             all_values.block(begin, kv_column, {end - begin, d}),
             outputs.block(token, head * d, {1, d}).row(0));
    }
  }
  return out;
}

}  // namespace wafer::reference

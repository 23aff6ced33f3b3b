#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/index.hpp"

namespace wafer::test {

/// Sizes of an attention over a whole sequence.
struct PlainHeads {
  Index kv_heads, group, head_dim;
  Index query_width() const { return kv_heads * group * head_dim; }
  Index width() const { return kv_heads * (group + 2) * head_dim; }  // of [query | key | value]
};

/// softmax(q K^T) V of every token and head in double, with queries that are scaled already: (T, heads d).
/// A query sees the keys up to itself, and of these the last `window` where that is not 0.
inline std::vector<double> plain_attention(const PlainHeads& heads, const std::vector<float>& qkv,
                                           Index window) {
  const Index d = heads.head_dim;
  const Index tokens = static_cast<Index>(qkv.size()) / heads.width();
  const auto at_token = [&](Index token, Index column) {
    return static_cast<double>(qkv[at(token * heads.width() + column)]);
  };
  std::vector<double> out(at(tokens * heads.query_width()), 0.0);
  for (Index t = 0; t < tokens; ++t)
    for (Index h = 0; h < heads.kv_heads * heads.group; ++h) {
      const Index key = heads.query_width() + h / heads.group * d;
      const Index value = key + heads.kv_heads * d;
      const Index first = window == 0 ? 0 : std::max(Index{0}, t - window + 1);
      std::vector<double> p;
      for (Index s = first; s <= t; ++s) {
        double score = 0.0;
        for (Index k = 0; k < d; ++k) score += at_token(t, h * d + k) * at_token(s, key + k);
        p.push_back(score);
      }
      const double most = *std::max_element(p.begin(), p.end());
      double sum = 0.0;
      for (double& score : p) sum += score = std::exp(score - most);
      for (Index s = first; s <= t; ++s)
        for (Index k = 0; k < d; ++k)
          out[at(t * heads.query_width() + h * d + k)] += p[at(s - first)] / sum * at_token(s, value + k);
    }
  return out;
}

/// A sequence in which query (t, h) is 10^4 e_i and key s is e_s, so that softmax picks the one token that
/// `pick` names; needs at least as many dimensions as tokens.
template <class Pick>
std::vector<float> picking(const PlainHeads& heads, Index tokens, std::vector<float> values, Pick pick) {
  const Index d = heads.head_dim;
  std::vector<float> qkv(at(tokens * heads.width()), 0.0F);
  for (Index t = 0; t < tokens; ++t) {
    float* row = qkv.data() + t * heads.width();
    for (Index h = 0; h < heads.kv_heads * heads.group; ++h) row[h * d + pick(t, h)] = 1e4F;
    for (Index k = 0; k < heads.kv_heads; ++k) row[heads.query_width() + k * d + t] = 1.0F;
    std::copy_n(values.data() + t * heads.kv_heads * d, heads.kv_heads * d,
                row + heads.query_width() + heads.kv_heads * d);
  }
  return qkv;
}

/// What picking() selects: (T, heads d).
template <class Pick>
std::vector<float> picked(const PlainHeads& heads, Index tokens, const std::vector<float>& values,
                          Pick pick) {
  const Index d = heads.head_dim;
  std::vector<float> out;
  for (Index t = 0; t < tokens; ++t)
    for (Index h = 0; h < heads.kv_heads * heads.group; ++h) {
      const float* value = values.data() + (pick(t, h) * heads.kv_heads + h / heads.group) * d;
      out.insert(out.end(), value, value + d);
    }
  return out;
}

/// Models whose heads are shared by all queries, by groups, by none, more than some meshes have columns, and
/// so small that columns of a wide mesh are idle.
inline const std::vector<PlainHeads> head_cases = {{1, 4, 4}, {2, 3, 8}, {3, 1, 6}, {5, 2, 4}};

}  // namespace wafer::test

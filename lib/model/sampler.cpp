#include "model/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/random.hpp"

namespace wafer::model {

Index sample(std::span<const float> logits, const Sampling& sampling, std::uint64_t step) {
  std::vector<Index> ids(logits.size());
  std::iota(ids.begin(), ids.end(), Index{0});
  // Equal logits keep the order of their ids, on every machine.
  std::stable_sort(ids.begin(), ids.end(), [&](Index a, Index b) { return logits[at(a)] > logits[at(b)]; });
  if (sampling.temperature <= 0.0) return ids.front();
  if (sampling.top_k > 0) ids.resize(std::min(ids.size(), at(sampling.top_k)));
  const double most = logits[at(ids.front())];
  std::vector<double> weights;
  weights.reserve(ids.size());
  for (const Index id : ids) weights.push_back(std::exp((logits[at(id)] - most) / sampling.temperature));
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  double kept = 0.0;
  std::size_t count = 0;
  while (count < weights.size() && (count == 0 || kept < sampling.top_p * all)) kept += weights[count++];
  double draw = Random(sampling.seed, 0).uniform(step) * kept;
  for (std::size_t k = 0; k + 1 < count; ++k) {
    draw -= weights[k];
    if (draw < 0.0) return ids[k];
  }
  return ids[count - 1];
}

}  // namespace wafer::model

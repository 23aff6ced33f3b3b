#include "study/predict.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "model/transformer.hpp"
#include "plmr/line_reduction.hpp"

namespace wafer::study {

using model::Options, model::Transformer;
using plmr::Execution, plmr::to_cycles;

namespace {

constexpr Index stretches = 8;  // of output positions that one token stands for

std::unique_ptr<Execution> make_execution(const PredictRequest& request, mesh::Mesh mesh) {
  return std::make_unique<Execution>(request.device, mesh, request.precision, request.traced);
}

Options options_of(const PredictRequest& request, Execution& prefill, Execution& decode) {
  Options options;
  options.prefill_mesh = request.prefill_mesh;
  options.decode_mesh = request.decode_mesh;
  options.kv = request.kv;
  options.tree = request.tree;
  options.prefill_execution = &prefill;
  options.decode_execution = &decode;
  options.repeat_alike_layers = !request.every_layer;
  const Regions regions = regions_of(request);
  options.counted_layers = regions.fullest_layers;
  options.counted_tables = regions.fullest_has_tables;
  return options;
}

// The hidden state walks into the next region and along its rows.
void cross_regions(Execution& execution, const PredictRequest& request, Index crossings) {
  if (crossings < 1) return;
  const plmr::Operator op(&execution, "regions");
  const mesh::Mesh mesh = request.decode_mesh;
  const auto rows = Partition::even(request.config.hidden, mesh.height).sizes();
  std::vector<Index> words;
  words.reserve(rows.size());
  for (const Index size : rows) words.push_back(execution.cost().stream_words(size));
  for (Index crossing = 0; crossing < crossings; ++crossing)
    plmr::multicast_lines(execution, mesh::Axis::x, {0, mesh.height}, {0, mesh.width}, 0, words);
}

// One output token at the current position.
void decode_token(Transformer& transformer, Execution& execution, const PredictRequest& request,
                  Index crossings) {
  transformer.decode(0);
  cross_regions(execution, request, crossings);
  transformer.greedy();
}

// All output tokens. The middle one of a stretch stands for it: what a token costs grows evenly.
void decode_all(Transformer& transformer, Execution& execution, const PredictRequest& request,
                Index crossings) {
  if (request.every_layer) {
    for (Index token = 0; token < request.output; ++token)
      decode_token(transformer, execution, request, crossings);
    return;
  }
  decode_token(transformer, execution, request, crossings);  // warm: cores that had nothing to do catch up
  const Index rest = request.output - 1;
  if (rest == 0) return;
  const auto cuts = part_offsets(rest, std::min(stretches, rest));
  const Index start = transformer.tokens();
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    const Index length = cuts[s + 1] - cuts[s];
    transformer.skip_tokens(start + cuts[s] + length / 2 - transformer.tokens());
    const auto mark = execution.mark();
    decode_token(transformer, execution, request, crossings);
    execution.repeat_since(mark, length - 1);
    transformer.skip_tokens(start + cuts[s + 1] - transformer.tokens());
  }
}

Index largest_product(const Partition& a, const Partition& b) { return a.largest() * b.largest(); }

}  // namespace

Regions regions_of(const PredictRequest& request) {
  const mesh::Mesh mesh = request.decode_mesh;
  const model::Cut cut(request.config, mesh);
  const Index weights = largest_product(cut.hidden_y, cut.heads.fused()) +
                        largest_product(cut.heads.query(), cut.hidden_y) +
                        largest_product(cut.hidden_y, cut.gate_up) + largest_product(cut.ffn, cut.hidden_y);
  const Index tokens = request.input + request.output;
  Index row = Partition::even(tokens, mesh.height).largest();
  if (request.kv == kv::Policy::concat)
    row = Partition::even(request.input, mesh.height).largest() + request.output;
  Regions regions;
  const Index cache = row * 2 * cut.heads.key().largest();
  regions.layer_bytes = (weights + cache) * request.precision.element_bytes;
  const Index tables = (request.config.tied_embeddings ? 1 : 2) * largest_product(cut.hidden_y, cut.vocab);
  const Index buffers = 4 * std::max(cut.gate_up.largest(), cut.heads.fused().largest());
  const Index room = request.device.sram_bytes - buffers * request.precision.element_bytes;
  regions.layers = std::min(request.config.layers, std::max(Index{0}, room / regions.layer_bytes));
  regions.fullest_layers = regions.layers;
  if (regions.layers > 0) {
    regions.count = (request.config.layers + regions.layers - 1) / regions.layers;
    // The embedding and the head have cores of their own where they find no room beside the last layers.
    const Index table_bytes = tables * request.precision.element_bytes;
    const Index last = request.config.layers - (regions.count - 1) * regions.layers;
    const bool apart = last * regions.layer_bytes + table_bytes > room;
    if (apart) {
      regions.layers = (request.config.layers + regions.count - 1) / regions.count;
      regions.count += (table_bytes + room - 1) / room;
    }
    regions.fullest_has_tables =
        !apart && last * regions.layer_bytes + table_bytes >= regions.layers * regions.layer_bytes;
    regions.fullest_layers = regions.fullest_has_tables ? last : regions.layers;
  }
  regions.most = request.device.grid().cores() / mesh.cores();
  return regions;
}

Prediction predict(const fabric::Communicator& self, const PredictRequest& request) {
  WAFER_CHECK(request.output >= 1, "at least one token is generated");
  Prediction result;
  result.prefill_execution = make_execution(request, request.prefill_mesh);
  if (!(request.prefill_mesh == request.decode_mesh))
    result.decode_execution = make_execution(request, request.decode_mesh);
  Execution& prefill = *result.prefill_execution;
  Execution& decode = result.decode_execution ? *result.decode_execution : prefill;
  result.regions = regions_of(request);

  Transformer transformer(self, request.config, options_of(request, prefill, decode));
  transformer.prefill(std::vector<Index>(at(request.input), 0));
  const plmr::Ticks prefilled = std::max(prefill.now(), decode.now());
  transformer.transition();
  const plmr::Ticks moved = decode.now();
  decode_all(transformer, decode, request, result.regions.count - 1);
  result.prefill = to_cycles(prefilled);
  result.transition = to_cycles(moved - prefilled);
  result.decode = to_cycles(decode.now() - moved);
  return result;
}

double predict_prefill(const fabric::Communicator& self, const PredictRequest& request) {
  const auto execution = make_execution(request, request.prefill_mesh);
  PredictRequest same = request;
  same.decode_mesh = request.prefill_mesh;
  Transformer transformer(self, request.config, options_of(same, *execution, *execution));
  transformer.prefill(std::vector<Index>(at(request.input), 0));
  return to_cycles(execution->now());
}

double predict_decode(const fabric::Communicator& self, const PredictRequest& request) {
  const auto execution = make_execution(request, request.decode_mesh);
  PredictRequest same = request;
  same.prefill_mesh = request.decode_mesh;
  Options options = options_of(same, *execution, *execution);
  Transformer transformer(self, request.config, options, false);
  transformer.skip_tokens(request.input);
  decode_all(transformer, *execution, request, regions_of(request).count - 1);
  return to_cycles(execution->now());
}

}  // namespace wafer::study

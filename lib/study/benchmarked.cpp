#include "study/benchmarked.hpp"

#include "plmr/line_reduction.hpp"
#include "plmr/ring_product.hpp"
#include "plmr/rotating_product.hpp"

namespace wafer::study {

using mesh::Axis;
using plmr::Align, plmr::Cost, plmr::Execution, plmr::Operator, plmr::Ticks;

namespace {

void everywhere(Execution& execution, Ticks ticks) {
  execution.compute([ticks](Index, Index) { return ticks; });
}

void product(Execution& execution, Index m, Index k, Index n, bool align) {
  const mesh::Mesh mesh = execution.mesh();
  const mesh::QueuePlan queues(mesh);
  plmr::ring_product(execution, queues,
                     {.rows = std::vector<Index>(at(mesh.height), m),
                      .blocks = std::vector<Index>(at(queues.blocks()), k),
                      .columns = std::vector<Index>(at(mesh.width), n),
                      .align = align ? Align::half : Align::none});
}

// Of part(length, cores), every core's part cut over its slots.
std::vector<Index> block_sizes(const mesh::QueueLine& line, Index length) {
  std::vector<Index> sizes(at(line.blocks()));
  const auto parts = part_sizes(length, line.cores());
  for (Index place = 0; place < line.cores(); ++place) {
    const auto pieces = part_sizes(parts[at(place)], line.slots(place));
    for (std::size_t slot = 0; slot < pieces.size(); ++slot)
      sizes[at(line.first_slot(place)) + slot] = pieces[slot];
  }
  return sizes;
}

enum class Keep { sums, maxima };

void all_reduce(Execution& execution, Axis axis, const mesh::ReductionTree& tree, Index elements,
                Keep keep = Keep::sums, bool multicast = true) {
  const Cost& cost = execution.cost();
  const Index lines = execution.mesh().lines(axis);
  const Index words = keep == Keep::maxima ? cost.max_words(elements) : cost.stream_words(elements);
  const plmr::LineGroup group{
      .lines = {0, lines},
      .origin = 0,
      .tree = &tree,
      .reduce_words = std::vector<Index>(at(lines), words),
      .result_words = std::vector<Index>(multicast ? at(lines) : 0, cost.stream_words(elements))};
  plmr::reduce_lines(execution, axis, {&group, 1});
}

// Prefill: one number a token is reduced by a two-sided chain with the root in the middle.
void prefill_norm(Execution& execution, const BenchmarkedTiles& tiles) {
  const Operator op(&execution, "rms_norm");
  const Cost& cost = execution.cost();
  const auto& device = execution.device();
  const Index L = tiles.sequence, D = tiles.hidden;
  everywhere(execution,
             cost.vector(L * D) + D * 3 * cost.vector(L) + L * (2 * device.divide + device.square_root));
  all_reduce(execution, Axis::x, mesh::KTree(execution.mesh().width, 1), L);
}

void prefill_softmax(Execution& execution, const BenchmarkedTiles& tiles) {
  const Operator op(&execution, "softmax");
  const Cost& cost = execution.cost();
  const auto& device = execution.device();
  const Index L = tiles.sequence;
  const mesh::KTree chain(execution.mesh().width, 1);
  everywhere(execution, cost.vector(L * L) + L * cost.maxima(L));
  all_reduce(execution, Axis::x, chain, L, Keep::maxima);
  everywhere(execution, L * 3 * cost.vector(L) + L * L * device.exponential);
  all_reduce(execution, Axis::x, chain, L);
  everywhere(execution, L * device.divide);
}

void prefill_scores(Execution& execution, const BenchmarkedTiles& tiles) {
  const Operator op(&execution, "scores");
  const mesh::Mesh mesh = execution.mesh();
  const mesh::QueuePlan queues(mesh);
  execution.enter();
  plmr::scores_product(execution, queues,
                       {.run = {0, mesh.width},
                        .heads = 1,
                        .rows = std::vector<Index>(at(mesh.height), tiles.sequence),
                        .blocks = std::vector<Index>(at(queues.blocks()), tiles.sequence),
                        .depth = std::vector<Index>(at(mesh.width), tiles.hidden),
                        .alive = {}});
}

}  // namespace

void benchmarked_gemm(Execution& execution, Index m, Index k, Index n, bool align) {
  const Operator op(&execution, "gemm");
  product(execution, m, k, n, align);
}

void timed_gemm(Execution& execution, Index m, Index k, Index n) {
  const Operator op(&execution, "gemm");
  const mesh::Mesh mesh = execution.mesh();
  const mesh::QueuePlan queues(mesh);
  plmr::ring_product(execution, queues,
                     {.rows = part_sizes(m, mesh.height),
                      .blocks = block_sizes(queues.x, k),
                      .columns = part_sizes(n, mesh.width),
                      .align = Align::half});
}

void timed_gemm_t(Execution& execution, Index m, Index k, Index n) {
  const Operator op(&execution, "gemm_t");
  const mesh::Mesh mesh = execution.mesh();
  const mesh::QueuePlan queues(mesh);
  execution.enter();
  plmr::scores_product(execution, queues,
                       {.run = {0, mesh.width},
                        .heads = 1,
                        .rows = part_sizes(m, mesh.height),
                        .blocks = block_sizes(queues.y, n),
                        .depth = part_sizes(k, mesh.width),
                        .alive = {}});
}

void timed_gemv(Execution& execution, Index k, Index n, const mesh::ReductionTree& tree) {
  const Operator op(&execution, "gemv");
  const Cost& cost = execution.cost();
  const mesh::Mesh mesh = execution.mesh();
  const auto rows = part_sizes(k, mesh.height), columns = part_sizes(n, mesh.width);
  execution.enter();
  execution.compute([&](Index y, Index x) { return cost.gemv(rows[at(y)], columns[at(x)]); });
  plmr::LineGroup group{
      .lines = {0, mesh.width}, .origin = 0, .tree = &tree, .reduce_words = {}, .result_words = {}};
  for (const Index size : columns) group.reduce_words.push_back(cost.stream_words(size));
  group.result_words = group.reduce_words;
  plmr::reduce_lines(execution, Axis::y, {&group, 1});
}

void benchmarked_gemv(Execution& execution, Index k, Index n, Index groups, bool multicast) {
  const Operator op(&execution, "gemv");
  execution.enter();
  everywhere(execution, execution.cost().gemv(k, n));
  all_reduce(execution, Axis::y, mesh::KTree(execution.mesh().height, 2, groups), n, Keep::sums, multicast);
}

void benchmarked_prefill(Execution& execution, const BenchmarkedTiles& tiles) {
  const Index D = tiles.hidden, L = tiles.sequence, F = tiles.ffn;
  const Cost& cost = execution.cost();
  const auto& device = execution.device();
  const auto gemm = [&](const char* name, Index k, Index n, bool align) {
    const Operator op(&execution, name);
    product(execution, L, k, n, align);
  };
  prefill_norm(execution, tiles);
  gemm("qkv", D, D, true);  // K and V use Q's alignment
  gemm("qkv", D, D, false);
  gemm("qkv", D, D, false);
  {
    const Operator op(&execution, "rope");
    everywhere(execution, 2 * (D / 2) * 6 * cost.vector(L));
  }
  prefill_scores(execution, tiles);
  prefill_softmax(execution, tiles);
  gemm("values", L, D, true);
  gemm("o", D, D, true);
  prefill_norm(execution, tiles);
  gemm("gate_up", D, F, true);
  gemm("gate_up", D, F, false);
  {
    const Operator op(&execution, "silu");
    everywhere(execution, L * F * (device.divide + device.exponential) + cost.vector(L * F));
  }
  gemm("down", F, D, true);
}

namespace {

// One token of one layer: Fig. 4 of the paper in the instructions of the authors' kernels.
class DecodeToken {
public:
  DecodeToken(Execution& execution, const BenchmarkedTiles& tiles, Index groups)
      : execution_(execution),
        cost_(execution.cost()),
        device_(execution.device()),
        tiles_(tiles),
        tree_(execution.mesh().height, 2, groups) {}

  void run() {
    const Index D = tiles_.hidden, L = tiles_.sequence, F = tiles_.ffn;
    norm();
    gemv("qkv", Axis::y, D, D, 3);
    local("rope", 2 * 6 * cost_.vector(D / 2));
    scores(L, D);
    softmax(L);
    gemv("values", Axis::y, L, D, 1);
    gemv("o", Axis::x, D, D, 1);
    local("residual", cost_.vector(D));
    norm();
    gemv("gate_up", Axis::y, D, F, 2);
    local("silu", device_.loop + D * (device_.divide + device_.exponential) + cost_.vector(F));
    gemv("down", Axis::x, F, D, 1);
    local("residual", cost_.vector(D));
  }

private:
  void local(const char* name, Ticks ticks) {
    const Operator op(&execution_, name);
    everywhere(execution_, ticks);
  }
  // `parts` products with one all-reduce.
  void gemv(const char* name, Axis axis, Index k, Index n, Index parts) {
    const Operator op(&execution_, name);
    execution_.enter();
    everywhere(execution_, parts * (cost_.vector(n) + cost_.gemv(k, n)));
    all_reduce(execution_, axis, tree_, parts * n);
  }
  void norm() {
    const Operator op(&execution_, "rms_norm");
    const Ticks pass = cost_.vector(tiles_.hidden);
    execution_.enter();
    everywhere(execution_, 2 * pass);
    all_reduce(execution_, Axis::y, tree_, 1);
    execution_.enter();
    everywhere(execution_, 2 * device_.divide + device_.square_root + pass);
  }
  void scores(Index L, Index D) {
    gemv("scores", Axis::x, D, L, 1);
    local("scores", cost_.vector(L));
  }
  void softmax(Index L) {
    const Operator op(&execution_, "softmax");
    execution_.enter();
    everywhere(execution_, cost_.maxima(L));
    all_reduce(execution_, Axis::y, tree_, 1, Keep::maxima);
    everywhere(execution_, 2 * cost_.vector(L) + device_.loop + L * device_.exponential);
    all_reduce(execution_, Axis::y, tree_, 1);
    everywhere(execution_, device_.divide + cost_.vector(L));
  }

  Execution& execution_;
  const Cost& cost_;
  const plmr::Device& device_;
  BenchmarkedTiles tiles_;
  mesh::KTree tree_;
};

}  // namespace

void benchmarked_decode(Execution& execution, const BenchmarkedTiles& tiles, Index groups) {
  DecodeToken(execution, tiles, groups).run();
}

}  // namespace wafer::study

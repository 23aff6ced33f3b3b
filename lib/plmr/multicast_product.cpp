#include "plmr/multicast_product.hpp"

#include <numeric>

#include "plmr/line_reduction.hpp"

namespace wafer::plmr {

using mesh::Axis;

namespace {

// Block l of both operands reaches every core that needs it.
void multicast_block(Execution& execution, const mesh::QueuePlan& queues, const MulticastProduct& product,
                     Index l) {
  const mesh::Mesh mesh = execution.mesh();
  const Cost& cost = execution.cost();
  const Index k = product.blocks[at(l)];
  std::vector<Index> left, right;
  left.reserve(product.rows.size());
  right.reserve(product.columns.size());
  for (const Index m : product.rows) left.push_back(cost.stream_words(m * k));
  for (const Index n : product.columns) right.push_back(cost.stream_words(k * n));
  if (mesh.width > 1) multicast_in_turn(execution, Axis::x, queues.x.place_of_block(l), left);
  if (mesh.height > 1) multicast_in_turn(execution, Axis::y, queues.y.place_of_block(l), right);
}

// Every core of a row is its root once, and each root needs routes of its own.
void use_routes(Execution& execution) {
  execution.use_routes("multicasts along X", execution.mesh().width > 1 ? execution.mesh().width : 0);
  execution.use_routes("multicasts along Y", execution.mesh().height > 1 ? execution.mesh().height : 0);
}

void clear(Execution& execution, const MulticastProduct& product) {
  execution.enter();
  execution.compute([&](Index y, Index x) {
    return execution.cost().vector(product.rows[at(y)] * product.columns[at(x)]);
  });
}

void multiply(Execution& execution, const MulticastProduct& product, Index k) {
  execution.compute([&](Index y, Index x) {
    return execution.cost().gemm(product.rows[at(y)], k, product.columns[at(x)]);
  });
}

}  // namespace

void summa_product(Execution& execution, const mesh::QueuePlan& queues, const MulticastProduct& product) {
  clear(execution, product);
  for (Index l = 0; l < queues.blocks(); ++l) {
    multicast_block(execution, queues, product, l);
    multiply(execution, product, product.blocks[at(l)]);
  }
  use_routes(execution);
}

void allgather_product(Execution& execution, const mesh::QueuePlan& queues, const MulticastProduct& product) {
  clear(execution, product);
  for (Index l = 0; l < queues.blocks(); ++l) multicast_block(execution, queues, product, l);
  multiply(execution, product, std::accumulate(product.blocks.begin(), product.blocks.end(), Index{0}));
  use_routes(execution);
}

}  // namespace wafer::plmr

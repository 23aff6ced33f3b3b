#include "plmr/ledger.hpp"

#include <memory>

#include "checkpoint/golden.hpp"
#include "fabric/tilings.hpp"
#include "kernels/gemm.hpp"
#include "model/transformer.hpp"
#include "support/test_device.hpp"

using namespace wafer;
using checkpoint::Checkpoint;
using fabric::Communicator;
using mesh::Mesh;
using model::Options, model::Transformer;
using plmr::Charge, plmr::Execution;
using test::world;

namespace {

const std::string library = kernels::use_library();  // one BLAS thread, or bits differ
const std::string golden_dir = WAFER_GOLDEN_DIR;

struct Meshes {
  Mesh prefill;
  Mesh decode;
  kv::Policy kv = kv::Policy::shift;
};
const std::vector<Meshes> meshes = {
    {{1, 4}, {1, 4}},
    {{3, 3}, {3, 3}},
    {{2, 3}, {3, 2}},
    {{5, 4}, {2, 2}, kv::Policy::concat},
    {{7, 5}, {7, 5}, kv::Policy::round_robin},
};
const std::vector<Index> prompt = {3, 1, 4, 1, 5};
const std::vector<Index> continuation = {9, 2, 6, 5, 3, 5, 8};

// Virtual time of a run: one execution, or two where the meshes differ.
struct Times {
  Times(const Meshes& on, bool traced) : prefill(test::odd_device(), on.prefill, {2, false}, traced) {
    if (!(on.prefill == on.decode))
      other = std::make_unique<Execution>(test::odd_device(), on.decode, plmr::Precision{2, false}, traced);
  }
  Execution& decode() { return other ? *other : prefill; }
  Execution prefill;
  std::unique_ptr<Execution> other;
};

Options options_of(const Meshes& on, Times& times) {
  Options options;
  options.prefill_mesh = on.prefill;
  options.decode_mesh = on.decode;
  options.kv = on.kv;
  options.prefill_execution = &times.prefill;
  options.decode_execution = &times.decode();
  return options;
}

void run(Transformer& transformer) {
  transformer.prefill(prompt);
  transformer.greedy();
  transformer.transition();
  for (const Index id : continuation) {
    transformer.decode(id);
    transformer.greedy();
  }
}

void check_equal(Times& got, Times& expected) {
  for (const auto& [a, b] :
       {std::pair(&got.prefill, &expected.prefill), std::pair(&got.decode(), &expected.decode())}) {
    REQUIRE(a->ledger().entries().size() == b->ledger().entries().size());
    for (std::size_t e = 0; e < a->ledger().entries().size(); ++e) {
      const auto& entry = a->ledger().entries()[e];
      CAPTURE(entry.account.phase, entry.account.layer, entry.account.operation);
      CHECK(entry == b->ledger().entries()[e]);
    }
    CHECK(a->clocks() == b->clocks());
    CHECK(a->peak_bytes() == b->peak_bytes());
    CHECK(a->peak() == b->peak());
    for (const auto kind : {plmr::Memory::weights, plmr::Memory::cache, plmr::Memory::buffers})
      CHECK(a->peak_bytes(kind) == b->peak_bytes(kind));
  }
}

}  // namespace

TEST_CASE("a real run and a dry run have the same ledger, clocks and memory, on any number of ranks",
          "[model]") {
  for (const char* family : {"/qwen3", "/llama-odd", "/mistral-swa", "/qwen2"}) {
    const Checkpoint checkpoint(golden_dir + family);
    for (const Meshes& on : meshes) {
      if (world().size() > std::min(on.prefill.cores(), on.decode.cores())) continue;
      CAPTURE(family, mesh::to_string(on.prefill), mesh::to_string(on.decode));
      Times real(on, false), dry(on, false);
      Transformer with_weights(world(), checkpoint, options_of(on, real), true);
      run(with_weights);
      const Communicator self = world().split(world().rank().value, 0);
      Transformer without(self, checkpoint.config(), options_of(on, dry));
      run(without);
      check_equal(real, dry);
    }
  }
}

// A plain dry run leaves out the operators that it knows; a traced one runs them all.
TEST_CASE("a traced run has the clocks and the memory of a plain one", "[model]") {
  const Communicator self = world().split(world().rank().value, 0);
  const std::string family = GENERATE("/qwen3", "/llama-odd", "/mistral-swa", "/llama-gqa");
  const Checkpoint checkpoint(golden_dir + family);
  for (const Meshes& on : meshes) {
    CAPTURE(family, mesh::to_string(on.prefill), mesh::to_string(on.decode));
    Times plain(on, false), traced(on, true);
    for (Times* times : {&plain, &traced}) {
      Transformer transformer(self, checkpoint.config(), options_of(on, *times));
      run(transformer);
      for (Index token = 0; token < 20; ++token) {
        transformer.decode(token);
        token % 3 == 0 ? static_cast<void>(transformer.logits()) : static_cast<void>(transformer.greedy());
      }
    }
    check_equal(traced, plain);
    const plmr::Trace last = traced.decode().critical_path();
    CHECK(last.time == plain.decode().now());
    CHECK(last.compute > 0);
    CHECK(last.compute < last.time);
    CHECK(last.stages > 0);
  }
}

TEST_CASE("every tick of every core is compute, software or waiting", "[model]") {
  const Checkpoint checkpoint(golden_dir + "/llama-odd");
  const Communicator self = world().split(world().rank().value, 0);
  for (const Meshes& on : meshes) {
    Times times(on, false);
    Transformer transformer(self, checkpoint.config(), options_of(on, times));
    run(transformer);
    for (const auto& entry : times.decode().ledger().entries()) {
      const Charge& charge = entry.charge;
      CAPTURE(entry.account.operation);
      CHECK(charge.advance_all == charge.compute_all + charge.software_all + charge.exposed_all);
      CHECK(charge.exposed_all >= 0);
      CHECK(charge.exposed_most * on.decode.cores() >= charge.exposed_all);
      CHECK(charge.cycles >= 0);
    }
  }
}

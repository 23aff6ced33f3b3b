// What the paper says about how algorithms grow (WaferLLM, sections 5.1 and 6.1), counted on N x N cores with
// tiles of one size for N = 4..64. docs/model.md says where and why the counts differ from the paper's.
#include <cmath>

#include "core/error.hpp"
#include "fabric/tilings.hpp"
#include "report/device_file.hpp"
#include "study/workload.hpp"

using namespace wafer;

namespace {

const plmr::Device device = report::read_device(WAFER_DATA_DIR "/devices/wse2.json");
constexpr Index sides[] = {4, 8, 16, 32, 64};

struct Count {
  Index routes = 0;   // static paths of the most crowded router
  Index longest = 0;  // hops of one message
  Index bytes = 0;    // of the fullest core
  std::int64_t hops = 0;
  std::int64_t stages = 0;  // along the chain of the last core to finish
};

template <class Make>
Count count(mesh::Mesh mesh, Make make) {
  plmr::Execution execution(device, mesh, {2, false}, true);
  const fabric::Fabric dry(test::world(), mesh::Tiling(mesh, 1), 1, &execution, true);
  make(dry)->run();
  const plmr::Charge all = execution.ledger().total([](const plmr::Account&) { return true; });
  const plmr::Trace path = execution.critical_path();
  return {all.routes, all.longest_path, execution.peak().total(), path.hops, path.stages};
}

Count gemm(const std::string& algorithm, Index N) {
  return count({N, N}, [&](const fabric::Fabric& fabric) {
    return study::make_gemm(fabric, {algorithm, 2 * N, 2 * N, 2 * N, 0});
  });
}

Count all_reduce(const std::string& algorithm, Index N, Index levels = 2) {
  return count({N, 1}, [&](const fabric::Fabric& fabric) {
    return study::make_all_reduce(
        fabric, {{levels, 0, &fabric::all_reduce_algorithm(algorithm)}, mesh::Axis::y, 5, false, true});
  });
}

}  // namespace

TEST_CASE("MeshGEMM: constant routes and memory, two hops a step") {
  for (const char* algorithm : {"mesh", "mesh-lcm"})
    for (const Index N : sides) {
      CAPTURE(algorithm, N);
      const Count counted = gemm(algorithm, N);
      CHECK(counted.routes == 3);
      CHECK(counted.longest == 2);
      CHECK(counted.bytes == gemm("mesh", 4).bytes);
    }
}

TEST_CASE("Cannon: constant routes and memory, a wrap of N - 1 hops") {
  for (const Index N : sides) {
    CAPTURE(N);
    const Count counted = gemm("cannon", N);
    CHECK(counted.routes == 3);
    CHECK(counted.longest == N - 1);
    CHECK(counted.bytes == gemm("mesh", 4).bytes);
  }
}

TEST_CASE("SUMMA: routes and reach grow with N, memory does not") {
  for (const Index N : sides) {
    CAPTURE(N);
    const Count counted = gemm("summa", N);
    CHECK(counted.routes == N);
    CHECK(counted.longest == N - 1);
    CHECK(counted.bytes <= 2 * gemm("mesh", N).bytes);
    CHECK(counted.bytes == gemm("summa", 4).bytes);
  }
}

TEST_CASE("allgather: routes, reach and memory grow with N") {
  for (const Index N : sides) {
    CAPTURE(N);
    const Count counted = gemm("allgather", N);
    CHECK(counted.routes == N);
    CHECK(counted.longest == N - 1);
    // Everything of a row of A and of a column of B, beside C.
    CHECK(counted.bytes - gemm("allgather", 4).bytes == (N - 4) * (gemm("mesh", N).bytes / 5) * 2);
  }
}

TEST_CASE("2.5D MeshGEMM: constant routes and memory, a quarter of the hops in a chain of shifts") {
  for (const Index N : sides) {
    CAPTURE(N);
    const Count counted = gemm("mesh25d", N);
    CHECK(counted.routes <= 5);
    CHECK(counted.bytes == gemm("mesh25d", 4).bytes);
    CHECK(counted.bytes <= 4 * gemm("mesh", N).bytes);
  }
}

TEST_CASE("pipeline: constant routes; to a corner 2 N hops and N stages, to the middle half as many") {
  for (const Index N : sides) {
    CAPTURE(N);
    const Count corner = all_reduce("pipeline-corner", N);
    CHECK(corner.hops == 2 * (N - 1));
    CHECK(corner.stages == N - 1);
    CHECK(corner.routes == all_reduce("pipeline-corner", 4).routes);
    const Count middle = all_reduce("pipeline", N);
    CHECK(middle.hops == N - 1);
    CHECK(middle.stages == N / 2);
    CHECK(middle.routes == all_reduce("pipeline", 4).routes);
  }
}

TEST_CASE("ring: constant routes, 2 (N - 1) steps of two hops") {
  for (const Index N : sides) {
    CAPTURE(N);
    const Count counted = all_reduce("ring", N);
    CHECK(counted.routes == 3);
    CHECK(counted.longest == 2);
    // The last core's chain may end before its last steps are anybody's to wait for.
    CHECK(counted.hops > 4 * (N - 2));
    CHECK(counted.hops <= 4 * (N - 1));
  }
}

TEST_CASE("binary tree: log2 N stages, and two routes more for each") {
  for (const Index N : sides) {
    CAPTURE(N);
    const auto levels = static_cast<Index>(std::log2(static_cast<double>(N)));
    const Count counted = all_reduce("tree", N);
    CHECK(counted.stages == levels);
    CHECK(counted.routes == 2 * levels + 2);
    CHECK(counted.hops == 2 * (N - 1));
  }
}

// For odd groups the root takes two streams of equal length one after the other: (g + 1) / 2 stages a level.
TEST_CASE("K-tree: routes that grow with K alone, N hops, (K / 2) N^(1/K) stages") {
  for (const auto& [N, levels, stages] : {std::tuple<Index, Index, Index>{16, 2, 4},
                                          {36, 2, 6},
                                          {64, 2, 8},
                                          {27, 3, 6},
                                          {64, 3, 6},
                                          {64, 6, 6}}) {
    CAPTURE(N, levels);
    const Count counted = all_reduce("ktree", N, levels);
    CHECK(counted.stages == stages);
    CHECK(counted.routes <= 2 * levels + 2);
  }
  // N, and half a group on the way up and down: its root is in the middle.
  for (const Index N : {16, 32, 64}) {
    const Index group = N / mesh::default_groups(N, 2);
    CHECK(all_reduce("ktree", N).hops >= N - 1);
    CHECK(all_reduce("ktree", N).hops <= N + group);
  }
}

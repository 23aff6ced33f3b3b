#include "study/published.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.hpp"
#include "report/device_file.hpp"
#include "support/catch.hpp"
#include "support/test_device.hpp"

namespace wafer::study {
namespace {

using plmr::Execution;
using test::contains;

Sources sources() {
  const std::filesystem::path data = WAFER_DATA_DIR;
  const auto device = [&](const char* name) { return report::read_device(data / "devices" / name); };
  return {data / "paper", device("wse2.json"), device("wse3.json"), device("wse2-sdk-summa.json")};
}

void predict(Table& table) {
  for (Comparison& row : table.rows) row.predicted = row.predict();
}

TEST_CASE("every table that has a name is made, with what it is held against") {
  const Sources all = sources();
  const auto names = table_names();
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == 14);
  for (const std::string& name : names) {
    const Table table = make_table(name, all);
    CAPTURE(name);
    CHECK(table.name == name);
    CHECK_FALSE(table.title.empty());
    CHECK_FALSE(table.unit.empty());
    CHECK_FALSE(table.rows.empty());
    CHECK_FALSE((table.bounds.empty() && table.claims.empty()));
    for (const Comparison& row : table.rows) {
      CAPTURE(row.label);
      CHECK(std::isfinite(row.published));
      if (table.bounds.empty())
        CHECK(row.published == 0.0);  // only claims were published
      else
        CHECK(row.published > 0.0);
      CHECK(row.predict != nullptr);
    }
    for (const Bound& bound : table.bounds) {
      CAPTURE(bound.group, bound.of_fitted);
      CHECK(errors_of(table, bound.group, bound.of_fitted).rows > 0);
      CHECK(bound.mean <= bound.most);
    }
  }
}

TEST_CASE("no table holds before it is predicted") {
  const Sources all = sources();
  for (const std::string& name : table_names()) {
    CAPTURE(name);
    CHECK_FALSE(holds(make_table(name, all)));
  }
}

TEST_CASE("the tables that take no time hold") {
  const Sources all = sources();
  for (const char* name : {"closed-forms", "single-core", "table5"}) {
    Table table = make_table(name, all);
    predict(table);
    CAPTURE(name);
    CHECK(holds(table));
  }
}

TEST_CASE("a device of other costs misses the measurements of one core") {
  Sources all = sources();
  all.wse2.call *= 2;
  Table table = make_table("single-core", all);
  predict(table);
  CHECK_FALSE(holds(table));
}

TEST_CASE("a table of another name is refused with the names that there are") {
  const Sources all = sources();
  std::string text;
  try {
    make_table("table1", all);
  } catch (const UsageError& error) {
    text = error.what();
  }
  CHECK_THAT(text, contains("\"table1\"") && contains("table2") && contains("closed-forms"));
}

TEST_CASE("published numbers that are not there are refused by file") {
  Sources none = sources();
  none.paper /= "none";
  for (const std::string& name : table_names()) {
    CAPTURE(name);
    const std::set<std::string> without_files = {"single-core", "closed-forms", "fig9", "fig10"};
    if (without_files.count(name) != 0)
      CHECK_NOTHROW(make_table(name, none));
    else
      CHECK_THROWS_AS(make_table(name, none), InputError);
  }
}

TEST_CASE("a benchmarked model's tiles are padded, and another model is refused") {
  const BenchmarkedModel& model = benchmarked_model("llama3-8b");
  const BenchmarkedTiles tiles = model.tiles(720, 4096);
  CHECK(tiles.hidden == 6);
  CHECK(tiles.sequence == 6);
  CHECK(tiles.ffn == 20);
  CHECK(model.tiles(4096, 1).hidden == 1);
  CHECK_THROWS_AS(benchmarked_model("llama3"), InputError);
}

TEST_CASE("a faster clock makes rates higher in proportion, and a longer context makes decode slower") {
  const BenchmarkedModel tiny{"tiny", 64, 96, 3, 64};
  plmr::Device device = test::odd_device();
  const double prefill = tiny.prefill_rate(device, 4, 32), decode = tiny.decode_rate(device, 4, 32);
  CHECK(prefill > 0.0);
  CHECK(tiny.decode_rate(device, 4, 64) < decode);
  device.clock_hz *= 2;
  CHECK(std::abs(tiny.prefill_rate(device, 4, 32) / prefill - 2.0) < 1e-9);
  CHECK(std::abs(tiny.decode_rate(device, 4, 32) / decode - 2.0) < 1e-9);
}

// Every core's clock after a run on a mesh.
template <class Run>
std::vector<plmr::Ticks> clocks_of(mesh::Mesh mesh, Run run) {
  Execution execution(test::odd_device(), mesh, {2, true});
  run(execution);
  return execution.clocks();
}

TEST_CASE("a GEMM of any shape costs what the benchmarked one does where all tiles are equal") {
  for (const Index P : {1, 2, 3, 6, 7}) {
    CAPTURE(P);
    const auto timed = clocks_of({P, P}, [&](Execution& e) { timed_gemm(e, 4 * P, 5 * P, 2 * P); });
    CHECK(timed == clocks_of({P, P}, [](Execution& e) { benchmarked_gemm(e, 4, 5, 2); }));
    CHECK(timed != clocks_of({P, P}, [](Execution& e) { benchmarked_gemm(e, 4, 5, 3); }));
  }
}

TEST_CASE("a GEMV of any shape costs what the benchmarked one does where all tiles are equal") {
  for (const Index P : {1, 4, 9}) {
    CAPTURE(P);
    const mesh::KTree tree(P, 2, P == 1 ? 1 : 2);
    const auto timed = clocks_of({P, P}, [&](Execution& e) { timed_gemv(e, 4 * P, 6 * P, tree); });
    CHECK(timed == clocks_of({P, P}, [&](Execution& e) { benchmarked_gemv(e, 4, 6, P == 1 ? 1 : 2); }));
  }
}

TEST_CASE("uneven shapes cost no less than the even ones below and no more than those above") {
  const auto latest = [](mesh::Mesh mesh, Index m, Index k, Index n, bool transposed) {
    Execution execution(test::odd_device(), mesh, {2, true});
    transposed ? timed_gemm_t(execution, m, k, n) : timed_gemm(execution, m, k, n);
    return execution.now();
  };
  for (const mesh::Mesh mesh : {mesh::Mesh{3, 3}, {2, 3}, {5, 2}})
    for (const bool transposed : {false, true}) {
      CAPTURE(mesh::to_string(mesh), transposed);
      const Index whole = mesh.height * mesh.width;  // every mesh dimension divides it
      const auto odd = latest(mesh, 3 * whole + 1, 3 * whole + 1, 3 * whole + 1, transposed);
      CHECK(latest(mesh, 3 * whole, 3 * whole, 3 * whole, transposed) <= odd);
      CHECK(odd <= latest(mesh, 4 * whole, 4 * whole, 4 * whole, transposed));
    }
}

TEST_CASE("alignment and the final multicast cost something, and cores that hold more take longer") {
  const auto latest = [](auto run) {
    const auto clocks = clocks_of({5, 5}, run);
    return *std::max_element(clocks.begin(), clocks.end());
  };
  CHECK(latest([](Execution& e) { benchmarked_gemm(e, 4, 4, 4, false); }) <
        latest([](Execution& e) { benchmarked_gemm(e, 4, 4, 4, true); }));
  CHECK(latest([](Execution& e) { benchmarked_gemv(e, 4, 4, 2, false); }) <
        latest([](Execution& e) { benchmarked_gemv(e, 4, 4, 2, true); }));
}

TEST_CASE("one timed GEMM after a warm-up stands for many") {
  for (const Index P : {2, 5, 8}) {
    const auto measured = [&](Index repeats) {
      Execution execution(sources().wse3, {P, P}, {2, true});
      return measured_cycles(
          execution, [&] { benchmarked_gemm(execution, 3, 4, 6); }, repeats);
    };
    CAPTURE(P);
    const double once = measured(1);
    CHECK(once > 0.0);
    CHECK(std::abs(measured(10) / once - 1.0) < 1e-3);
  }
}

TEST_CASE("what is measured is the mean over the cores of what a call adds after the first") {
  Execution execution({}, {1, 2}, {2, false});
  Index call = 0;
  const double cycles = measured_cycles(
      execution,
      [&] {
        const Index ticks = (call == 0 ? 1000 : 10 * call) * plmr::ticks_per_cycle;
        ++call;
        execution.compute([ticks](Index, Index x) { return x == 0 ? ticks : 3 * ticks; });
      },
      3);
  CHECK(call == 4);
  CHECK(cycles == (10 + 20 + 30) * 2 / 3.0);
}

}  // namespace
}  // namespace wafer::study

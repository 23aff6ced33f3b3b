// The standard set: what is timed, beside what, and how the two should compare.
#include <array>

#include <fmt/format.h>

#include "fabric/fabric.hpp"
#include "study/workload.hpp"
#include "wafermesh/bench_baseline.hpp"
#include "wafermesh/bench_case.hpp"
#include "wafermesh/bench_models.hpp"
#include "wafermesh/common.hpp"

namespace wafer::app {

using fabric::Communicator, fabric::Fabric;
using study::Workload;

namespace {

// A product, on all ranks or on the first few of them, while the others sleep.
class Product {
public:
  Product(const Communicator& world, mesh::Mesh mesh, int ranks,
          std::unique_ptr<plmr::Execution> execution = nullptr)
      : world_(world),
        execution_(std::move(execution)),
        group_(world.split(world.rank().value < ranks ? 0 : 1, world.rank().value)),
        works_(world.rank().value < ranks) {
    if (works_) fabric_ = std::make_unique<Fabric>(group_, mesh::Tiling(mesh, ranks), 1, execution_.get());
  }
  const Fabric* fabric() const { return fabric_.get(); }
  void set(std::unique_ptr<Workload> work) { work_ = std::move(work); }

  double run() {
    double seconds = 0.0;
    if (works_) {
      work_->prepare();
      seconds = time_together(group_, [this] { work_->run(); });
    }
    memory_ = std::max(memory_, peak_memory());
    world_.barrier();
    return world_.max(seconds);
  }
  bool good() {
    const bool right = !works_ || work_->error().value_or(0.0) <= 1.0;
    return world_.min(right ? 1 : 0) == 1;
  }
  // Of all ranks, at the end of the last run. [bytes]
  std::int64_t memory() const { return memory_; }

private:
  const Communicator& world_;
  std::unique_ptr<plmr::Execution> execution_;
  Communicator group_;
  bool works_;
  std::unique_ptr<Fabric> fabric_;
  std::unique_ptr<Workload> work_;
  std::int64_t memory_ = 0;
};

std::shared_ptr<Product> gemm(const Communicator& world, mesh::Mesh mesh, Index n, int ranks,
                              std::unique_ptr<plmr::Execution> execution = nullptr) {
  auto product = std::make_shared<Product>(world, mesh, ranks, std::move(execution));
  if (product->fabric() != nullptr) product->set(study::make_gemm(*product->fabric(), {"mesh", n, n, n, 0}));
  return product;
}

Contest beside_sgemm(const Communicator& world, mesh::Mesh mesh, Index n, bool weighs_memory = false) {
  check_cpus(world, world.size());
  const auto product = gemm(world, mesh, n, world.size());
  const auto own_memory = std::make_shared<std::int64_t>(0);
  Contest contest;
  set_sgemm_baseline(contest, world, n);
  contest.subject = [product, own_memory] {
    const double seconds = product->run();
    if (*own_memory == 0) *own_memory = product->memory();  // the baseline's matrices come later
    return seconds;
  };
  contest.good = [product] { return product->good(); };
  if (!weighs_memory) return contest;  // of the process: a case before may have had more
  contest.remark = [&world, own_memory, n] {
    const auto all = static_cast<double>(world.sum(*own_memory));
    return fmt::format("memory of all ranks {:.2f} x the three matrices",
                       all / (12.0 * static_cast<double>(n * n)));
  };
  return contest;
}

Contest wafer_gemm(const Communicator& world, const BenchSettings&) {
  return beside_sgemm(world, {720, 720}, 7920, true);
}
template <Index n>
Contest coarse_gemm(const Communicator& world, const BenchSettings&) {
  return beside_sgemm(world, {2, 2}, n);
}

Contest crowded_gemm(const Communicator& world, const BenchSettings&) {
  const auto many = gemm(world, {4, 4}, 2048, world.size()), few = gemm(world, {4, 4}, 2048, 2);
  Contest contest;
  contest.subject = [many] { return many->run(); };
  contest.baseline = [few] { return few->run(); };
  contest.baseline_work = 2e-9 * 2048.0 * 2048.0 * 2048.0;
  contest.baseline_cpus = 2;
  contest.good = [many] { return many->good(); };
  return contest;
}

Contest gemv(const Communicator& world, const BenchSettings&) {
  constexpr Index n = 4096;
  check_cpus(world, world.size());
  const auto product = std::make_shared<Product>(world, mesh::Mesh{2, 2}, world.size());
  product->set(study::make_gemv(*product->fabric(), {{}, n, n, 0}));
  Contest contest;
  set_read_baseline(contest, world, n * n * static_cast<std::int64_t>(sizeof(float)), 1);
  contest.subject = [product] { return product->run(); };
  contest.good = [product] { return product->good(); };
  return contest;
}

Contest device_gemm(const Communicator& world, const BenchSettings& settings) {
  const auto plain = gemm(world, {360, 360}, 3960, world.size());
  const auto timed =
      gemm(world, {360, 360}, 3960, world.size(), settings.device.execution(world, {360, 360}));
  Contest contest;
  contest.subject = [timed] { return timed->run(); };
  contest.baseline = [plain] { return plain->run(); };
  contest.baseline_work = 2e-9 * 3960.0 * 3960.0 * 3960.0;
  contest.baseline_cpus = world.size();
  return contest;
}

const std::array cases = {
    BenchCase{"wafer-gemm", "7920 x 7920 x 7920 on 720x720 cores", "sgemm, a thread a rank", 2.0, 0,
              wafer_gemm},
    BenchCase{"gemm-2048", "2048 x 2048 x 2048 on 2x2", "sgemm, a thread a rank", 1 / 0.95, 2,
              coarse_gemm<2048>},
    BenchCase{"gemm-4096", "4096 x 4096 x 4096 on 2x2", "sgemm, a thread a rank", 1 / 0.95, 2,
              coarse_gemm<4096>},
    BenchCase{"gemm-crowded", "2048 x 2048 x 2048 on 4x4, 16 ranks", "the same on 2 of them", 1.3, 16,
              crowded_gemm},
    BenchCase{"gemv", "4096 x 4096 float32 on 2x2", "reading the matrix", 1 / 0.8, 2, gemv},
    BenchCase{"decode", "12-layer Llama in bf16, 128 tokens on 2x2", "reading its weights", 1 / 0.85, 2,
              llama_decode},
    BenchCase{"decode-many", "the same on 32x32", "on 2x2", 3.0, 2, llama_decode_on_many},
    BenchCase{"prefill", "the same model, 512 tokens on 2x2", "sgemm of as many FLOPs", 1 / 0.8, 2,
              llama_prefill},
    BenchCase{"prefill-many", "the same on 64x64", "on 2x2", 3.0, 2, llama_prefill_on_many},
    BenchCase{"decode-folio", "folio, 1 token on 8x8, 4 ranks", "", 0.01, 4, folio_decode},
    BenchCase{"dry-layer", "a LLaMA3-8B layer, 4096 tokens on 720x720, dry", "", 5.0, 1, dry_layer},
    BenchCase{"device-gemm", "3960 x 3960 x 3960 on 360x360, with clocks", "without", 1.1, 0, device_gemm},
    BenchCase{"device-prefill", "folio, 256 tokens on 32x32, with clocks", "without", 1.1, 0, device_prefill},
    BenchCase{"device-decode", "folio, 96 tokens on 8x8, with clocks", "without", 1.1, 0, device_decode},
};

}  // namespace

std::span<const BenchCase> bench_cases() { return cases; }

}  // namespace wafer::app

// GEMM, GEMV and all-reduce, to be timed and checked.
#include <cmath>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "fabric/agree.hpp"
#include "fabric/redistribute.hpp"
#include "ops/gemm.hpp"
#include "ops/gemv.hpp"
#include "ops/mesh_gemm_t.hpp"
#include "study/freivalds.hpp"
#include "study/operands.hpp"
#include "study/workload.hpp"

namespace wafer::study {

using fabric::Blocks, fabric::Fabric, fabric::Placement;
using mesh::Axis;

namespace {

// Memory may run out on some ranks only; a dry fabric has none to run out of, and may be one rank's alone.
void allocate(const Fabric& fabric, const std::function<void()>& stage) {
  if (fabric.dry())
    stage();
  else
    fabric::agree(fabric.communicator(), stage);
}

class GemmWorkload : public Workload {
public:
  GemmWorkload(const Fabric& fabric, const GemmProblem& problem)
      : fabric_(fabric),
        problem_(problem),
        contraction_(Partition::even(problem.k, fabric.mesh().width)),
        cols_(Partition::even(problem.n, fabric.mesh().width)) {
    const auto rows = Partition::even(problem.m, fabric.mesh().height);
    if (!transposed()) gemm_ = ops::gemm_algorithm(problem.algorithm).make(fabric);
    allocate(fabric, [&] {
      A_ = Blocks(fabric, Placement::plain(rows, contraction_));
      B_ = Blocks(fabric, gemm_ ? gemm_->right(contraction_, cols_)
                                : ops::mesh_gemm_t_right(fabric, problem.n, contraction_));
    });
    if (fabric.dry()) return;
    fill(A_, problem.seed, 1);
    fill(B_, problem.seed, 2);
  }
  void run() override {
    C_ = Blocks();  // before the new one, so that they do not count together
    C_ = gemm_ ? gemm_->multiply(A_, B_, cols_) : ops::mesh_gemm_t(fabric_, A_, B_);
  }
  std::optional<double> error() override { return freivalds(fabric_, A_, B_, C_, transposed()); }
  std::uint64_t hash() override { return hash_of(fabric_, C_); }
  double flops() const override {
    return 2.0 * static_cast<double>(problem_.m) * static_cast<double>(problem_.n) *
           static_cast<double>(problem_.k);
  }

private:
  bool transposed() const { return problem_.algorithm == "mesh-t"; }
  const Fabric& fabric_;
  GemmProblem problem_;
  Partition contraction_, cols_;
  std::unique_ptr<ops::Gemm> gemm_;  // null: MeshGEMM-T
  Blocks A_, B_, C_;
};

class GemvWorkload : public Workload {
public:
  GemvWorkload(const Fabric& fabric, const GemvProblem& problem)
      : fabric_(fabric),
        problem_(problem),
        columns_(fabric::AllReduce::of_lines(fabric, Axis::y, problem.reduce)) {
    const auto rows = Partition::even(problem.k, fabric.mesh().height);
    allocate(fabric, [&] {
      a_ = Blocks(fabric, Placement::copied(Axis::x, rows));
      B_ = Blocks(fabric, Placement::plain(rows, Partition::even(problem.n, fabric.mesh().width)));
    });
    if (fabric.dry()) return;
    fill(a_, problem.seed, 1);
    fill(B_, problem.seed, 2);
  }
  void run() override {
    c_ = Blocks();
    c_ = ops::mesh_gemv(fabric_, Axis::y, columns_, a_, B_);
  }
  std::optional<double> error() override { return gemv_error(fabric_, a_, B_, c_); }
  std::uint64_t hash() override {
    const auto whole = fabric::gather(fabric_, c_);
    const auto hash = static_cast<std::int64_t>(hash_bytes(std::as_bytes(std::span(whole))));
    return static_cast<std::uint64_t>(fabric_.communicator().broadcast(hash, {0}));
  }
  double flops() const override {
    return 2.0 * static_cast<double>(problem_.n) * static_cast<double>(problem_.k);
  }

private:
  const Fabric& fabric_;
  GemvProblem problem_;
  fabric::AllReduce columns_;
  Blocks a_, B_, c_;
};

class AllReduceWorkload : public Workload {
public:
  AllReduceWorkload(const Fabric& fabric, const AllReduceProblem& problem)
      : fabric_(fabric),
        problem_(problem),
        lines_(fabric::AllReduce::of_lines(fabric, problem.axis, problem.reduce)),
        results_(at(line_count())) {}

  void run() override {
    for (auto& line : results_) line.clear();
    const fabric::AllReduceWork work = {[this](Index) { return problem_.length; },
                                        [](Index line, Index place, std::span<float> own) {
                                          for (std::size_t k = 0; k < own.size(); ++k)
                                            own[k] = value(line, place, static_cast<Index>(k));
                                          return own;
                                        },
                                        [this](std::span<const float> other, std::span<float> sum) {
                                          for (std::size_t k = 0; k < sum.size(); ++k)
                                            sum[k] = problem_.maximum ? std::max(sum[k], other[k])
                                                                      : sum[k] + other[k];
                                        },
                                        [this](Index line) {
                                          auto& result = results_[at(line)];
                                          result.resize(at(problem_.length));
                                          return std::span(result);
                                        },
                                        problem_.maximum ? fabric::Stream::maxima : fabric::Stream::sums};
    const plmr::Operator charged(fabric_.execution(), "all_reduce");
    if (problem_.broadcast)
      lines_.run(work);
    else
      lines_.run_to_root(work);
  }

  // Exact or wrong.
  std::optional<double> error() override {
    bool good = true;
    Index found = 0;
    for (Index line = 0; line < line_count(); ++line) {
      const auto& result = results_[at(line)];
      if (static_cast<Index>(result.size()) != problem_.length) continue;  // another rank's
      ++found;
      for (Index k = 0; k < problem_.length; ++k) good = good && result[at(k)] == expected(line, k);
    }
    const Index everywhere = fabric_.communicator().sum(found);
    return fabric_.communicator().min(good ? 1 : 0) == 1 && everywhere >= line_count() ? 0.0 : INFINITY;
  }
  std::uint64_t hash() override {
    std::uint64_t sum = 0;  // of the lines, each on the rank that holds its root
    for (Index line = 0; line < line_count(); ++line) {
      const Index root = lines_.root(line);
      const auto core = mesh::core_at(problem_.axis, line, root);
      if (!fabric_.tile().contains(core)) continue;
      sum += hash_bytes(std::as_bytes(std::span(results_[at(line)]))) *
             (2 * static_cast<std::uint64_t>(line) + 1);
    }
    return static_cast<std::uint64_t>(fabric_.communicator().sum(static_cast<std::int64_t>(sum)));
  }
  double flops() const override {
    return static_cast<double>(problem_.length) * static_cast<double>(fabric_.mesh().cores() - line_count());
  }

private:
  Index line_count() const { return fabric_.mesh().cores() / fabric_.mesh().length(problem_.axis); }
  static float value(Index line, Index place, Index k) {
    return static_cast<float>((line * 31 + place * 17 + k * 7) % 64 - 32);
  }
  float expected(Index line, Index k) const {
    float result = value(line, 0, k);
    for (Index place = 1; place < fabric_.mesh().length(problem_.axis); ++place) {
      const float own = value(line, place, k);
      result = problem_.maximum ? std::max(result, own) : result + own;
    }
    return result;
  }
  const Fabric& fabric_;
  AllReduceProblem problem_;
  fabric::AllReduce lines_;
  std::vector<std::vector<float>> results_;  // (lines)
};

}  // namespace

std::unique_ptr<Workload> make_gemm(const Fabric& fabric, const GemmProblem& problem) {
  return std::make_unique<GemmWorkload>(fabric, problem);
}
std::unique_ptr<Workload> make_gemv(const Fabric& fabric, const GemvProblem& problem) {
  return std::make_unique<GemvWorkload>(fabric, problem);
}
std::unique_ptr<Workload> make_all_reduce(const Fabric& fabric, const AllReduceProblem& problem) {
  return std::make_unique<AllReduceWorkload>(fabric, problem);
}

}  // namespace wafer::study

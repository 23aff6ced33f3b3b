#pragma once

#include <memory>
#include <optional>
#include <string>

#include "checkpoint/checkpoint.hpp"
#include "fabric/all_reduce.hpp"
#include "fabric/blocks.hpp"
#include "model/transformer.hpp"

namespace wafer::study {

/// Something to be run again and again, timed, and checked. All members are collective among the ranks of its
/// fabric. On a dry fabric it only advances the execution, and there is nothing to check.
class Workload {
public:
  virtual ~Workload() = default;
  /// Back to where run() starts from; not timed.
  virtual void prepare() {}
  virtual void run() = 0;
  /// How far the last run's result is from the exact one, as a share of what rounding allows: good up to 1.
  /// NaN and infinity are bad. Nothing where only the bits can be held against those of other ranks.
  virtual std::optional<double> error() { return std::nullopt; }
  /// Of the last run's result; the same on every number of ranks.
  virtual std::uint64_t hash() = 0;
  /// Multiplications and additions of one run.
  virtual double flops() const = 0;
};

/// C = A B by one of ops::gemm_algorithms(), or C = A B^T by MeshGEMM-T where it is called mesh-t.
struct GemmProblem {
  std::string algorithm = "mesh";
  Index m = 0, n = 0, k = 0;
  std::uint64_t seed = 0;
};
/// @throws UsageError for an unknown algorithm, FitError where memory runs out
std::unique_ptr<Workload> make_gemm(const fabric::Fabric& fabric, const GemmProblem& problem);

/// c = a B, a in parts over the rows of the mesh.
struct GemvProblem {
  fabric::ReduceShape reduce;
  Index n = 0, k = 0;
  std::uint64_t seed = 0;
};
std::unique_ptr<Workload> make_gemv(const fabric::Fabric& fabric, const GemvProblem& problem);

/// Every line along an axis adds up, or takes the maxima of, `length` numbers of each of its cores. They are
/// whole and small, so every order of additions gives the same exact sums.
struct AllReduceProblem {
  fabric::ReduceShape reduce;
  mesh::Axis axis = mesh::Axis::y;
  Index length = 0;
  bool maximum = false;
  bool broadcast = true;  // every core gets the result; otherwise it stays at the line's root
};
std::unique_ptr<Workload> make_all_reduce(const fabric::Fabric& fabric, const AllReduceProblem& problem);

/// A model's prefill of a prompt of `tokens`, or `tokens` steps of its decode after a prompt of `prompt`.
/// Their flops are those of the products with weights, and of prefill's attention.
struct ModelProblem {
  Index prompt = 8;  // of decode
  Index tokens = 0;
};
/// Prompts are made of token ids that depend on their place alone. `model` must outlive the workload.
/// @throws FitError for more tokens than the model's context
std::unique_ptr<Workload> make_prefill(const fabric::Communicator& communicator, model::Transformer& model,
                                       const checkpoint::ModelConfig& config, const ModelProblem& problem);
std::unique_ptr<Workload> make_decode(const fabric::Communicator& communicator, model::Transformer& model,
                                      const checkpoint::ModelConfig& config, const ModelProblem& problem);

}  // namespace wafer::study

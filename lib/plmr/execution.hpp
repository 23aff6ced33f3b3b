#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "plmr/cost.hpp"
#include "plmr/ledger.hpp"

namespace wafer::plmr {

/// What a core's memory holds.
enum class Memory { weights, cache, buffers };
inline constexpr std::size_t memory_kinds = 3;

/// An execution on a device, in virtual time: the clock of every core of a mesh, the ledger, and the bytes
/// in every core's memory. Cores run freely, there are no barriers. What an operator costs follows from
/// shapes and geometry alone, so every rank keeps the whole mesh, without messages, and the numbers cannot
/// depend on how the mesh is tiled.
///
/// Cost: 24 bytes a core; an operator takes a few passes over the cores beyond what its algorithm needs.
class Execution {
public:
  /// @param traced keeps, for every core, the chain of events that led to its clock: slower
  Execution(Device device, mesh::Mesh mesh, Precision precision, bool traced = false);
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  mesh::Mesh mesh() const { return mesh_; }
  const Device& device() const { return device_; }
  const Cost& cost() const { return cost_; }

  // Where what follows is charged.
  void phase(std::string name) {
    if (name != phase_) {
      spans_.clear();
      places_.clear();
    }
    phase_ = std::move(name);
  }
  const std::string& phase() const { return phase_; }
  void layer(Index layer) { layer_ = layer; }
  /// Between begin and end, everything is charged to one operator. Inside another, nothing changes: the
  /// outermost name counts. Use Operator.
  void begin(const char* operation);
  void end();

  /// Adds ticks_of(y, x) of computation to every core's clock.
  template <class F>
  void compute(F ticks_of) {
    std::vector<Ticks> ticks;
    ticks.reserve(compute_.size());
    for (Index y = 0; y < mesh_.height; ++y)
      for (Index x = 0; x < mesh_.width; ++x) ticks.push_back(ticks_of(y, x));
    for (std::size_t core = 0; core < ticks.size(); ++core) compute_[core] += ticks[core];
    move([ticks = std::move(ticks)](auto& clocks) {
      for (std::size_t core = 0; core < clocks.size(); ++core)
        clocks[core] = computed(clocks[core], ticks[core]);
    });
  }
  /// Task entry and buffers of an operator, on every core.
  void enter();

  /// Operators whose costs follow from `key` and from how the cores' clocks stand to each other when they
  /// begin: a layer, or a part of it. Where one of two earlier spans of this kind had the same key and began
  /// alike, it would go the same way again, so what it cost is added at once; where the clocks stood in
  /// another way, only its movements are run again. Then nothing is to be charged until end_span(). Memory
  /// counts all the same. Traced executions run everything. Use Span.
  void begin_span(Index kind, Index key);
  void end_span();
  bool replaying() const { return replayed_ != nullptr; }
  /// Who does not even run the operators of a known span has the buffers that they would have held counted
  /// here, on top of what is held now. What the span leaves behind is the caller's to hold.
  /// @pre replaying(); the span took weights and cache, if any, before its first buffer
  void hold_replayed();

  // For the movements of this folder: clocks and busy times in the order of the rows, and what was sent.
  /// Changes the clocks by f(clocks). What f does must follow from the clocks and from what it holds itself:
  /// a span may call it again.
  template <class F>
  void move(F f) {
    std::visit(f, clocks_);
    if (recording_ != nullptr && recording_->operators != nullptr) take_down(std::move(f));
  }
  /// The same for movements that are not to be called again: a span of them is run anew.
  template <class F>
  void visit(F f) {
    if (recording_ != nullptr) recording_->operators.reset();
    std::visit(f, clocks_);
  }
  std::vector<Ticks>& compute_ticks() { return compute_; }
  std::vector<Ticks>& software_ticks() { return software_; }
  void count(std::int64_t messages, std::int64_t words, std::int64_t word_hops, Index longest_path);
  /// `paths` static routes of the most crowded router, set up once under this name for the whole phase; or,
  /// without a name, for this operator alone.
  void use_routes(std::string_view name, Index paths);

  // Memory.
  /// Adds (sign 1) or takes away (sign -1) bytes, (H, W).
  void hold(Memory kind, const std::vector<Index>& bytes, int sign);

  /// The core that needed most, and what it held then.
  struct Peak {
    mesh::CoreCoord core;
    std::array<Index, memory_kinds> bytes{};
    Index total() const { return bytes[0] + bytes[1] + bytes[2]; }
    friend bool operator==(const Peak&, const Peak&) = default;
  };
  Peak peak() const;
  /// The bytes of each core at its own peak.
  const std::vector<Index>& peak_bytes() const { return peak_bytes_; }
  /// What of them was of one kind.
  const std::vector<Index>& peak_bytes(Memory kind) const { return at_peak_[static_cast<std::size_t>(kind)]; }
  /// Peaks are counted anew from what is held now.
  void restart_peak();

  // Results.
  const Ledger& ledger() const { return ledger_; }
  /// The latest clock of the wafer.
  Ticks now() const;
  /// Cores that ever computed, and what they computed together.
  Index active_cores() const;
  Ticks computed_all() const;
  std::vector<Ticks> clocks() const;
  /// Ticks each core has computed so far.
  const std::vector<Ticks>& computed_so_far() const { return total_compute_; }
  /// The last core to finish and the chain of events behind it. @pre traced
  Trace critical_path() const;
  bool traced() const { return std::holds_alternative<std::vector<Trace>>(clocks_); }
  /// Routes set up in a phase: the sum over the movements that need their own, or what one operator needs for
  /// itself.
  Index routes_of(const std::string& phase) const;
  /// Phases in which something moved.
  std::vector<std::string> phases() const;

  /// Every core's clock at least `ticks`.
  void wait_until(Ticks ticks);

  /// Runs what ran since `mark` again `times` over, without running it: every core's clock advances as it
  /// did, and the charges grow. For layers that are alike, from the second on.
  struct Mark {
    Ledger ledger;
    std::variant<std::vector<Ticks>, std::vector<Trace>> clocks;
    std::vector<Ticks> computed;
  };
  Mark mark() const;
  void repeat_since(const Mark& mark, Index times);

private:
  void add_charge(const char* operation, const Charge& charge);
  /// Completes `counted` by what the clocks say; the operator's busy times are given.
  Charge measured(Charge counted, const std::vector<Ticks>& compute, const std::vector<Ticks>& software);

  Device device_;
  mesh::Mesh mesh_;
  Cost cost_;
  std::variant<std::vector<Ticks>, std::vector<Trace>> clocks_;  // (H, W)
  std::string phase_ = "run";
  Index layer_ = -1;
  Ledger ledger_;
  // In the ledger, of this phase's operators by layer, from -1 on: without strings, this is asked at every
  // one.
  std::vector<std::vector<std::pair<const char*, std::size_t>>> places_;

  int depth_ = 0;
  const char* operation_ = "";
  Charge charge_;
  std::vector<Ticks> start_;     // (H, W) clocks when the operator began
  std::vector<Ticks> compute_;   // (H, W) of the current operator
  std::vector<Ticks> software_;  // (H, W)
  std::vector<Ticks> total_compute_;

  using Move = std::function<void(std::vector<Ticks>& clocks)>;
  // An operator of a span, to be run again from other clocks.
  struct Operation {
    const char* name;
    Charge counted;                        // what does not depend on clocks
    std::vector<Ticks> compute, software;  // (H, W)
    std::vector<Move> moves;
  };
  struct Recorded {
    Index key = 0;
    bool complete = false;
    std::vector<Ticks> start;    // (H, W) clocks
    std::vector<Ticks> advance;  // (H, W) of them
    std::vector<Ticks> compute;  // (H, W)
    std::vector<Index> buffers;  // (H, W) bytes, the most above those at the start
    std::vector<std::pair<const char*, Charge>> charges;
    std::shared_ptr<std::vector<Operation>> operators;  // null: cannot be run again
  };
  void replay(const Recorded& span);
  void run_again(const std::shared_ptr<std::vector<Operation>>& operators, const std::vector<Index>& buffers);
  void take_down(Move move);

  std::map<Index, std::array<Recorded, 2>> spans_;  // two of each kind, the one met last first
  Recorded* recording_ = nullptr;
  const Recorded* replayed_ = nullptr;
  std::vector<Index> most_buffers_;  // (H, W) bytes since the span that is being recorded began
  std::map<std::string, std::map<std::string, Index, std::less<>>> routes_;  // by phase and movement

  std::array<std::vector<Index>, memory_kinds> held_;  // (H, W) bytes
  std::vector<Index> held_all_;                        // (H, W) of all kinds
  std::array<std::vector<Index>, memory_kinds> at_peak_;
  std::vector<Index> peak_bytes_;
};

/// A span of operators that may be known already; nothing without an execution.
class Span {
public:
  Span(Execution* execution, Index kind, Index key) : execution_(execution) {
    if (execution_ != nullptr) execution_->begin_span(kind, key);
  }
  ~Span() {
    if (execution_ != nullptr) execution_->end_span();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  /// Whether its operators have been charged already.
  bool known() const { return execution_ != nullptr && execution_->replaying(); }
  /// @pre known()   See Execution::hold_replayed().
  void hold_buffers() const { execution_->hold_replayed(); }

private:
  Execution* execution_;
};

/// Charges what happens in its life to an operator; nothing without an execution.
class Operator {
public:
  Operator(Execution* execution, const char* name) : execution_(execution) {
    if (execution_ != nullptr) execution_->begin(name);
  }
  ~Operator() {
    if (execution_ != nullptr) execution_->end();
  }
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

private:
  Execution* execution_;
};

}  // namespace wafer::plmr

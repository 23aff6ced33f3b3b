// Executions that know what they need not run: spans that were met before, and layers that are alike.
#include "core/vector_clones.hpp"
#include "plmr/execution.hpp"

namespace wafer::plmr {

namespace {

// What operators did on a larger mesh would be too much to keep; their movements are what takes time there.
constexpr std::size_t most_cores_taken_down = 1 << 14;

// No bit is set where all clocks are later than they were by the same.
WAFER_VECTOR_CLONES Ticks differences(const Ticks* before, const Ticks* now, std::size_t cores) {
  const Ticks advance = now[0] - before[0];
  Ticks differing = 0;
  for (std::size_t core = 0; core < cores; ++core) differing |= now[core] - before[core] - advance;
  return differing;
}
bool stand_alike(const std::vector<Ticks>& before, const std::vector<Ticks>& now) {
  return differences(before.data(), now.data(), now.size()) == 0;
}
WAFER_VECTOR_CLONES void advance_by(Ticks* clocks, const Ticks* advance, std::size_t cores) {
  for (std::size_t core = 0; core < cores; ++core) clocks[core] += advance[core];
}

}  // namespace

void Execution::begin_span(Index kind, Index key) {
  if (traced()) return;
  const auto& clocks = std::get<std::vector<Ticks>>(clocks_);
  auto& kept = spans_[kind];
  std::shared_ptr<std::vector<Operation>> operators;
  std::vector<Index> buffers;
  for (Recorded& known : kept) {
    if (!known.complete || known.key != key) continue;
    if (stand_alike(known.start, clocks)) {
      if (&known != kept.data()) std::swap(kept[0], kept[1]);
      return replay(kept[0]);
    }
    if (known.operators == nullptr) continue;
    operators = known.operators;
    buffers = known.buffers;
  }
  std::swap(kept[0], kept[1]);
  recording_ = kept.data();
  recording_->key = key;
  recording_->complete = false;
  recording_->start = clocks;
  recording_->compute = total_compute_;
  recording_->buffers = most_buffers_ = held_[static_cast<std::size_t>(Memory::buffers)];
  recording_->charges.clear();
  recording_->operators.reset();
  if (operators != nullptr)
    run_again(operators, buffers);
  else if (clocks.size() <= most_cores_taken_down)
    recording_->operators = std::make_shared<std::vector<Operation>>();
}

void Execution::end_span() {
  replayed_ = nullptr;
  if (recording_ == nullptr) return;
  const auto& clocks = std::get<std::vector<Ticks>>(clocks_);
  recording_->advance.resize(clocks.size());
  for (std::size_t core = 0; core < clocks.size(); ++core) {
    recording_->advance[core] = clocks[core] - recording_->start[core];
    recording_->compute[core] = total_compute_[core] - recording_->compute[core];
    recording_->buffers[core] = most_buffers_[core] - recording_->buffers[core];
  }
  recording_->complete = true;
  recording_ = nullptr;
}

void Execution::replay(const Recorded& span) {
  auto& clocks = std::get<std::vector<Ticks>>(clocks_);
  advance_by(clocks.data(), span.advance.data(), clocks.size());
  advance_by(total_compute_.data(), span.compute.data(), clocks.size());
  for (const auto& [operation, charge] : span.charges) add_charge(operation, charge);
  replayed_ = &span;
}

// The operators of a span that began from other clocks, which is now recorded: shapes decide all but the
// clocks.
void Execution::run_again(const std::shared_ptr<std::vector<Operation>>& operators,
                          const std::vector<Index>& buffers) {
  auto& clocks = std::get<std::vector<Ticks>>(clocks_);
  Recorded& span = *recording_;
  for (const Operation& operation : *operators) {
    start_ = clocks;
    for (const Move& move : operation.moves) move(clocks);
    const Charge charge = measured(operation.counted, operation.compute, operation.software);
    add_charge(operation.name, charge);
    span.charges.emplace_back(operation.name, charge);
  }
  end_span();
  span.operators = operators;
  span.buffers = buffers;
  replayed_ = &span;
}

void Execution::take_down(Move move) {
  if (depth_ == 0)
    recording_->operators.reset();  // what is not an operator's
  else
    recording_->operators->back().moves.push_back(std::move(move));
}

Execution::Mark Execution::mark() const { return {ledger_, clocks_, total_compute_}; }

namespace {

// What happened between two clocks, `times` over again.
Ticks repeated(Ticks before, Ticks now, Index times) { return now + times * (now - before); }
Trace repeated(const Trace& before, const Trace& now, Index times) {
  return {repeated(before.time, now.time, times), repeated(before.compute, now.compute, times),
          repeated(before.hops, now.hops, times), repeated(before.stages, now.stages, times)};
}

}  // namespace

void Execution::repeat_since(const Mark& mark, Index times) {
  visit([&]<class Clock>(std::vector<Clock>& clocks) {
    const auto& before = std::get<std::vector<Clock>>(mark.clocks);
    for (std::size_t core = 0; core < clocks.size(); ++core)
      clocks[core] = repeated(before[core], clocks[core], times);
  });
  for (std::size_t core = 0; core < total_compute_.size(); ++core)
    total_compute_[core] += times * (total_compute_[core] - mark.computed[core]);
  const auto& before = mark.ledger.entries();
  const auto now = ledger_.entries();
  for (std::size_t e = 0; e < now.size(); ++e) {
    Charge more = now[e].charge;
    if (e < before.size()) {
      Charge earlier = before[e].charge;
      earlier.multiply(-1);
      more.add(earlier);
    }
    more.multiply(times);
    ledger_.add(now[e].account, more);
  }
}

}  // namespace wafer::plmr

#include "plmr/execution.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/vector_clones.hpp"

namespace wafer::plmr {

Execution::Execution(Device device, mesh::Mesh mesh, Precision precision, bool traced)
    : device_(std::move(device)), mesh_(mesh), cost_(device_, precision) {
  const std::size_t cores = at(mesh.cores());
  if (traced)
    clocks_ = std::vector<Trace>(cores);
  else
    clocks_ = std::vector<Ticks>(cores);
  for (auto* ticks : {&start_, &compute_, &software_, &total_compute_}) ticks->assign(cores, 0);
  for (auto* kinds : {&held_, &at_peak_})
    for (auto& bytes : *kinds) bytes.assign(cores, 0);
  peak_bytes_.assign(cores, 0);
}

void Execution::begin(const char* operation) {
  if (replaying_ || depth_++ > 0) return;
  operation_ = operation;
  charge_ = {};
  charge_.calls = 1;
  visit([&](const auto& clocks) {
    for (std::size_t core = 0; core < clocks.size(); ++core) start_[core] = time_of(clocks[core]);
  });
  std::fill(compute_.begin(), compute_.end(), 0);
  std::fill(software_.begin(), software_.end(), 0);
}

namespace {

// The sums and maxima of an operator over all cores.
struct Totals {
  Ticks advance = 0, compute = 0, software = 0;
  Ticks compute_most = 0, exposed_most = 0;
  Ticks before = never, now = never;
};
template <class Clock>
inline __attribute__((always_inline)) Totals add_up(const Clock* clocks, const Ticks* start,
                                                    const Ticks* compute, const Ticks* software,
                                                    Ticks* total_compute, std::size_t cores) {
  Totals sums;
  for (std::size_t core = 0; core < cores; ++core) {
    const Ticks time = time_of(clocks[core]);
    const Ticks advance = time - start[core];
    sums.advance += advance;
    sums.compute += compute[core];
    sums.software += software[core];
    sums.compute_most = later(sums.compute_most, compute[core]);
    sums.exposed_most = later(sums.exposed_most, advance - compute[core] - software[core]);
    sums.before = later(sums.before, start[core]);
    sums.now = later(sums.now, time);
    total_compute[core] += compute[core];
  }
  return sums;
}
WAFER_VECTOR_CLONES Totals totals(const std::vector<Ticks>& clocks, const Ticks* start, const Ticks* compute,
                                  const Ticks* software, Ticks* total_compute) {
  return add_up(clocks.data(), start, compute, software, total_compute, clocks.size());
}
Totals totals(const std::vector<Trace>& clocks, const Ticks* start, const Ticks* compute,
              const Ticks* software, Ticks* total_compute) {
  return add_up(clocks.data(), start, compute, software, total_compute, clocks.size());
}

}  // namespace

void Execution::end() {
  if (replaying_ || --depth_ > 0) return;
  visit([&](const auto& clocks) {
    const Totals sums =
        totals(clocks, start_.data(), compute_.data(), software_.data(), total_compute_.data());
    charge_.advance_all = sums.advance;
    charge_.compute_all = sums.compute;
    charge_.software_all = sums.software;
    charge_.exposed_all = sums.advance - sums.compute - sums.software;
    charge_.compute_most = sums.compute_most;
    charge_.exposed_most = sums.exposed_most;
    charge_.cycles = sums.now - sums.before;
    std::size_t last = 0;
    while (time_of(clocks[last]) != sums.now) ++last;
    charge_.exposed_last = sums.now - start_[last] - compute_[last] - software_[last];
  });
  add_charge(operation_, charge_);
  if (recording_ != nullptr) recording_->charges.emplace_back(operation_, charge_);
}

namespace {

// Whether all clocks are later than they were by the same.
bool stand_alike(const std::vector<Ticks>& before, const std::vector<Ticks>& now) {
  const Ticks advance = now[0] - before[0];
  Ticks differing = 0;
  for (std::size_t core = 0; core < now.size(); ++core) differing |= now[core] - before[core] - advance;
  return differing == 0;
}

}  // namespace

void Execution::begin_span(Index kind, Index key) {
  if (traced()) return;
  auto& clocks = std::get<std::vector<Ticks>>(clocks_);
  auto& kept = spans_[kind];
  for (const Recorded& known : kept) {
    if (!known.complete || known.key != key || !stand_alike(known.start, clocks)) continue;
    for (std::size_t core = 0; core < clocks.size(); ++core) {
      clocks[core] += known.advance[core];
      total_compute_[core] += known.compute[core];
    }
    for (const auto& [operation, charge] : known.charges) add_charge(operation, charge);
    replaying_ = true;
    return;
  }
  std::swap(kept[0], kept[1]);
  recording_ = kept.data();
  recording_->key = key;
  recording_->complete = false;
  recording_->start = clocks;
  recording_->compute = total_compute_;
  recording_->charges.clear();
}

void Execution::end_span() {
  replaying_ = false;
  if (recording_ == nullptr) return;
  const auto& clocks = std::get<std::vector<Ticks>>(clocks_);
  recording_->advance.resize(clocks.size());
  for (std::size_t core = 0; core < clocks.size(); ++core) {
    recording_->advance[core] = clocks[core] - recording_->start[core];
    recording_->compute[core] = total_compute_[core] - recording_->compute[core];
  }
  recording_->complete = true;
  recording_ = nullptr;
}

void Execution::add_charge(const char* operation, const Charge& charge) {
  const auto [place, is_new] = places_.try_emplace({layer_, operation}, 0);
  if (is_new) place->second = ledger_.place_of({phase_, layer_, operation});
  ledger_.add(place->second, charge);
}

void Execution::enter() {
  visit([&](auto& clocks) {
    for (auto& clock : clocks) clock = after(clock, device_.operator_entry);
  });
  for (Ticks& ticks : software_) ticks += device_.operator_entry;
}

void Execution::count(std::int64_t messages, std::int64_t words, std::int64_t word_hops, Index longest_path) {
  charge_.messages += messages;
  charge_.words += words;
  charge_.word_hops += word_hops;
  charge_.longest_path = std::max(charge_.longest_path, longest_path);
}

void Execution::use_routes(std::string_view name, Index paths) {
  charge_.routes = std::max(charge_.routes, paths);
  auto& movements = routes_[phase_];
  const auto known = movements.find(name);  // without a string of its own: this is asked at every operator
  if (known == movements.end())
    movements.emplace(name, paths);
  else
    known->second = std::max(known->second, paths);
}

namespace {

WAFER_VECTOR_CLONES void add_to(Index* held, const Index* bytes, Index sign, std::size_t cores) {
  for (std::size_t core = 0; core < cores; ++core) held[core] += sign * bytes[core];
}
// The sign bit is set where a core holds more than ever before.
WAFER_VECTOR_CLONES Index any_above(const Index* peak, const Index* a, const Index* b, const Index* c,
                                    std::size_t cores) {
  Index below = 0;
  for (std::size_t core = 0; core < cores; ++core) below |= peak[core] - (a[core] + b[core] + c[core]);
  return below;
}

}  // namespace

void Execution::hold(Memory kind, const std::vector<Index>& bytes, int sign) {
  add_to(held_[static_cast<std::size_t>(kind)].data(), bytes.data(), sign, bytes.size());
  // Most leases make no new peak.
  if (sign < 0 ||
      any_above(peak_bytes_.data(), held_[0].data(), held_[1].data(), held_[2].data(), bytes.size()) >= 0)
    return;
  for (std::size_t core = 0; core < bytes.size(); ++core) {
    const Index total = held_[0][core] + held_[1][core] + held_[2][core];
    if (total <= peak_bytes_[core]) continue;
    peak_bytes_[core] = total;
    for (std::size_t k = 0; k < memory_kinds; ++k) at_peak_[k][core] = held_[k][core];
  }
}

Execution::Peak Execution::peak() const {
  const std::size_t core = static_cast<std::size_t>(std::max_element(peak_bytes_.begin(), peak_bytes_.end()) -
                                                    peak_bytes_.begin());
  const auto place = static_cast<Index>(core);
  Peak peak{{place / mesh_.width, place % mesh_.width}};
  for (std::size_t k = 0; k < memory_kinds; ++k) peak.bytes[k] = at_peak_[k][core];
  return peak;
}

void Execution::restart_peak() {
  for (std::size_t core = 0; core < peak_bytes_.size(); ++core) {
    peak_bytes_[core] = held_[0][core] + held_[1][core] + held_[2][core];
    for (std::size_t k = 0; k < memory_kinds; ++k) at_peak_[k][core] = held_[k][core];
  }
}

Ticks Execution::now() const {
  const auto times = clocks();
  return *std::max_element(times.begin(), times.end());
}

Index Execution::active_cores() const {
  return std::count_if(total_compute_.begin(), total_compute_.end(), [](Ticks ticks) { return ticks > 0; });
}

Ticks Execution::computed_all() const {
  Ticks sum = 0;
  for (const Ticks ticks : total_compute_) sum += ticks;
  return sum;
}

std::vector<Ticks> Execution::clocks() const {
  std::vector<Ticks> times;
  times.reserve(at(mesh_.cores()));
  std::visit(
      [&](const auto& clocks) {
        for (const auto& clock : clocks) times.push_back(time_of(clock));
      },
      clocks_);
  return times;
}

Trace Execution::critical_path() const {
  WAFER_CHECK(traced(), "only a traced execution knows its critical path");
  const auto& clocks = std::get<std::vector<Trace>>(clocks_);
  return *std::max_element(clocks.begin(), clocks.end(),
                           [](const Trace& a, const Trace& b) { return a.time < b.time; });
}

Index Execution::routes_of(const std::string& phase) const {
  Index sum = 0;
  Index alone = 0;
  if (const auto movements = routes_.find(phase); movements != routes_.end())
    for (const auto& [name, paths] : movements->second) (name.empty() ? alone : sum) += paths;
  return std::max(sum, alone);
}

std::vector<std::string> Execution::phases() const {
  std::vector<std::string> names;
  for (const auto& [phase, movements] : routes_) names.push_back(phase);
  return names;
}

void Execution::wait_until(Ticks ticks) {
  visit([&](auto& clocks) {
    for (auto& clock : clocks)
      if (time_of(clock) < ticks) clock = after(clock, ticks - time_of(clock));
  });
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

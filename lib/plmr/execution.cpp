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
  for (auto* bytes : {&held_all_, &peak_bytes_}) bytes->assign(cores, 0);
}

void Execution::begin(const char* operation) {
  if (replaying() || depth_++ > 0) return;
  operation_ = operation;
  charge_ = {};
  charge_.calls = 1;
  if (recording_ != nullptr && recording_->operators != nullptr)
    recording_->operators->push_back({operation, {}, {}, {}, {}});
  std::visit(
      [&](const auto& clocks) {
        for (std::size_t core = 0; core < clocks.size(); ++core) start_[core] = time_of(clocks[core]);
      },
      clocks_);
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
  if (replaying() || --depth_ > 0) return;
  const Charge charge = measured(charge_, compute_, software_);
  add_charge(operation_, charge);
  if (recording_ == nullptr) return;
  recording_->charges.emplace_back(operation_, charge);
  if (recording_->operators == nullptr) return;
  Operation& operation = recording_->operators->back();
  operation.counted = charge_;
  operation.compute = compute_;
  operation.software = software_;
}

Charge Execution::measured(Charge counted, const std::vector<Ticks>& compute,
                           const std::vector<Ticks>& software) {
  std::visit(
      [&](const auto& clocks) {
        const Totals sums =
            totals(clocks, start_.data(), compute.data(), software.data(), total_compute_.data());
        counted.advance_all = sums.advance;
        counted.compute_all = sums.compute;
        counted.software_all = sums.software;
        counted.exposed_all = sums.advance - sums.compute - sums.software;
        counted.compute_most = sums.compute_most;
        counted.exposed_most = sums.exposed_most;
        counted.cycles = sums.now - sums.before;
        std::size_t last = 0;
        while (time_of(clocks[last]) != sums.now) ++last;
        counted.exposed_last = sums.now - start_[last] - compute[last] - software[last];
      },
      clocks_);
  return counted;
}

void Execution::add_charge(const char* operation, const Charge& charge) {
  const std::size_t layer = at(layer_ + 1);
  if (layer >= places_.size()) places_.resize(layer + 1);
  for (const auto& [known, place] : places_[layer])
    if (known == operation) return ledger_.add(place, charge);
  places_[layer].emplace_back(operation, ledger_.place_of({phase_, layer_, operation}));
  ledger_.add(places_[layer].back().second, charge);
}

void Execution::enter() {
  move([entry = device_.operator_entry](auto& clocks) {
    for (auto& clock : clocks) clock = after(clock, entry);
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

// Adds bytes, or takes them away where all bits of `minus` are set, on every core. The result's sign bit is
// set where a core then holds more than ever before.
WAFER_VECTOR_CLONES Index add_bytes(Index* held, Index* total, const Index* bytes, Index minus,
                                    const Index* peak, std::size_t cores) {
  Index below = 0;
  for (std::size_t core = 0; core < cores; ++core) {
    const Index more = (bytes[core] ^ minus) - minus;
    held[core] += more;
    total[core] += more;
    below |= peak[core] - total[core];
  }
  return below;
}
WAFER_VECTOR_CLONES void keep_most(Index* most, const Index* held, std::size_t cores) {
  for (std::size_t core = 0; core < cores; ++core) most[core] = std::max(most[core], held[core]);
}
// The sign bit is set where a core would hold more than ever before.
WAFER_VECTOR_CLONES Index any_above(const Index* peak, const Index* total, const Index* more,
                                    std::size_t cores) {
  Index below = 0;
  for (std::size_t core = 0; core < cores; ++core) below |= peak[core] - total[core] - more[core];
  return below;
}

}  // namespace

void Execution::hold(Memory kind, const std::vector<Index>& bytes, int sign) {
  const std::size_t cores = bytes.size();
  auto& held = held_[static_cast<std::size_t>(kind)];
  const Index below =
      add_bytes(held.data(), held_all_.data(), bytes.data(), sign < 0 ? -1 : 0, peak_bytes_.data(), cores);
  if (sign < 0) return;
  if (recording_ != nullptr && kind == Memory::buffers) keep_most(most_buffers_.data(), held.data(), cores);
  if (below >= 0) return;  // most leases make no new peak
  for (std::size_t core = 0; core < cores; ++core) {
    if (held_all_[core] <= peak_bytes_[core]) continue;
    peak_bytes_[core] = held_all_[core];
    for (std::size_t k = 0; k < memory_kinds; ++k) at_peak_[k][core] = held_[k][core];
  }
}

void Execution::hold_replayed() {
  const std::vector<Index>& more = replayed_->buffers;
  if (any_above(peak_bytes_.data(), held_all_.data(), more.data(), more.size()) >= 0) return;
  for (const int sign : {1, -1}) hold(Memory::buffers, more, sign);
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
    peak_bytes_[core] = held_all_[core];
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

}  // namespace wafer::plmr

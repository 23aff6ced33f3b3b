#include "wafermesh/scale_report.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <sched.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "fabric/agree.hpp"
#include "io/file.hpp"
#include "io/hdf5.hpp"
#include "kernels/gemm.hpp"

namespace wafer::app {

using fabric::Communicator;
using study::Summary;

namespace {

// CPUs that the ranks of a launch may use together.
int usable_cpus(const Communicator& world) {
  std::vector<double> allowed(CPU_SETSIZE, 0.0);
  cpu_set_t own;
  CPU_ZERO(&own);
  if (sched_getaffinity(0, sizeof own, &own) != 0)
    return static_cast<int>(std::thread::hardware_concurrency());
  for (std::size_t cpu = 0; cpu < allowed.size(); ++cpu)
    if (CPU_ISSET(cpu, &own)) allowed[cpu] = 1.0;
  world.sum(allowed);  // of one machine; ranks on others have CPUs of the same numbers
  return static_cast<int>(
      std::count_if(allowed.begin(), allowed.end(), [](double ranks) { return ranks > 0.0; }));
}

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string name_of(const std::string& op, const ScalePoint& point) {
  return fmt::format("{} {} {} {} ranks {}", op, point.algorithm, to_string(point.mesh), point.size,
                     point.ranks);
}

const ScaleRow& base_of(const ScaleReport& report, const ScaleRow& row) {
  return *std::min_element(report.rows.begin(), report.rows.end(), [&](const ScaleRow& a, const ScaleRow& b) {
    const auto order = [&](const ScaleRow& other) {
      const ScalePoint& point = other.point;
      const bool same = point.algorithm == row.point.algorithm && point.mesh == row.point.mesh &&
                        point.base_size == row.point.base_size;
      return std::pair(!same, point.ranks);
    };
    return order(a) < order(b);
  });
}

bool is_slower(const ScaleReport& report, const ScaleRow& row) {
  const auto before = report.earlier.find(name_of(report.op, row.point));
  if (before == report.earlier.end()) return false;
  const Summary now = study::summarise(row.samples);
  return now.median > before->second.median * (1.0 + report.tolerance) && now.low > before->second.high;
}

io::Json to_json(const ScaleReport& report, const ScaleRow& row) {
  const Summary time = study::summarise(row.samples);
  io::Json json = {{"algorithm", row.point.algorithm},
                   {"mesh", to_string(row.point.mesh)},
                   {"size", std::to_string(row.point.size)},
                   {"ranks", row.point.ranks},
                   {"samples", row.samples},
                   {"min", time.min},
                   {"median", time.median},
                   {"low", time.low},
                   {"high", time.high},
                   {"gflops", 1e-9 * row.flops / time.median},
                   {"speedup", row.speedup},
                   {"efficiency", row.efficiency},
                   {"load_balance", row.balance},
                   {"exposed", nullptr},
                   {"words", nullptr},
                   {"cycles", nullptr},
                   {"error_share_of_bound", nullptr},
                   {"hash", format_hash(row.hash)},
                   {"check", row.good ? "ok" : "FAILED"},
                   {"comparable", row.comparable}};
  if (row.error) json["error_share_of_bound"] = *row.error;
  if (row.device)
    json.update(
        {{"exposed", row.device->exposed}, {"words", row.device->words}, {"cycles", row.device->cycles}});
  if (!report.earlier.empty()) {
    const auto before = report.earlier.find(name_of(report.op, row.point));
    json["earlier_median"] = before == report.earlier.end() ? io::Json() : io::Json(before->second.median);
    json["slower"] = is_slower(report, row);
  }
  return json;
}

const std::string base_text = "the fewest ranks of the same algorithm, mesh and size";

std::string to_text(const ScaleReport& report, const ScaleRow& row) {
  const Summary time = study::summarise(row.samples);
  std::string line = fmt::format(
      "{:<15} {:>9} {:>7} {:>5} {:>10.6f} {:>10.6f} [{:.6f}, {:.6f}] {:>8.2f} {:>8.2f} {:>6.2f} {:>7.2f}",
      row.point.algorithm, to_string(row.point.mesh), row.point.size, row.point.ranks, time.min, time.median,
      time.low, time.high, 1e-9 * row.flops / time.median, row.speedup, row.efficiency, row.balance);
  line += row.device ? fmt::format(" {:>12.0f} {:>12.0f} {:>12}", row.device->cycles, row.device->exposed,
                                   row.device->words)
                     : std::string();
  line += row.good ? "  ok" : "  FAILED";
  if (!row.comparable) line += "  more ranks than CPUs";
  const auto before = report.earlier.find(name_of(report.op, row.point));
  if (before != report.earlier.end())
    line += fmt::format("  {:+.1f}%{}", 100.0 * (time.median / before->second.median - 1.0),
                        is_slower(report, row) ? " SLOWER" : "");
  return line + "\n";
}

}  // namespace

io::Json context_of(const Communicator& world, const ScaleSettings& settings) {
  io::Json context = {{"version", WAFERMESH_VERSION},
                      {"processor", processor()},
                      {"cpus", usable_cpus(world)},
                      {"launched_ranks", world.size()},
                      {"threads", settings.threads},
                      {"kernels", kernels::use_library()},
                      {"device", settings.device.given() ? settings.device.device : "none"}};
  if (settings.op == "prefill" || settings.op == "decode") context["model"] = settings.model;
  if (settings.op == "decode") context["prompt_tokens"] = settings.prompt;
  return context;
}

Earlier read_earlier(const Communicator& world, const std::string& path) {
  Earlier earlier;
  if (path.empty()) return earlier;
  fabric::agree(world, [&] {
    const bool hdf5 = path.size() > 3 && path.compare(path.size() - 3, 3, ".h5") == 0;
    const std::string text = hdf5 ? io::Hdf5Reader(path).read_text("result") : io::read_text(path);
    const io::Json json = io::parse_json(text, path);
    try {
      for (const io::Json& row : json.at("rows")) {
        const std::string name = fmt::format(
            "{} {} {} {} ranks {}", json.at("op").get<std::string>(), row.at("algorithm").get<std::string>(),
            row.at("mesh").get<std::string>(), row.at("size").get<std::string>(), row.at("ranks").get<int>());
        earlier[name] = study::summarise(row.at("samples").get<std::vector<double>>());
      }
    } catch (const io::Json::exception& error) {
      throw InputError({.what = path, .got = error.what(), .expected = "a result of `wafermesh scale`"});
    }
  });
  return earlier;
}

void complete(ScaleReport& report) {
  if (report.rows.empty() || report.rows.front().samples.empty()) return;
  for (ScaleRow& row : report.rows) {
    const ScaleRow& base = base_of(report, row);
    const double faster = study::summarise(base.samples).median / study::summarise(row.samples).median;
    const double ranks = static_cast<double>(row.point.ranks) / static_cast<double>(base.point.ranks);
    row.speedup = report.weak ? faster * row.flops / base.flops : faster;
    row.efficiency = row.speedup / ranks;
    row.comparable = row.point.ranks * report.threads <= report.cpus;
    const bool same_work = row.point.size == base.point.size;
    row.good = row.error.value_or(0.0) <= 1.0 && (!same_work || row.hash == base.hash);
    if (is_slower(report, row)) ++report.slower;
  }
}

Result to_result(const ScaleReport& report) {
  Result result;
  result.json = {{"op", report.op},
                 {"mode", report.weak ? "weak" : "strong"},
                 {"base", base_text},
                 {"context", report.context},
                 {"rows", io::Json::array()}};
  const bool device = report.rows.front().device.has_value();
  result.text = fmt::format(
      "{}, {} scaling on {} CPUs; speed-up over {}\n{:<15} {:>9} {:>7} {:>5} {:>10} {:>10} {:<20} {:>8} "
      "{:>8} "
      "{:>6} {:>7}{}  check\n",
      report.op, report.weak ? "weak" : "strong", report.cpus, base_text, "algorithm", "mesh", "size",
      "ranks", "min s", "median s", "95% interval", "GFLOP/s", "speed-up", "eff.", "balance",
      device ? fmt::format(" {:>12} {:>12} {:>12}", "cycles", "exposed", "words") : "");
  result.csv =
      "algorithm,mesh,size,ranks,min,median,low,high,gflops,speedup,efficiency,load_balance,cycles,exposed,"
      "words,check,comparable\n";
  for (const ScaleRow& row : report.rows) {
    const io::Json json = to_json(report, row);
    result.json["rows"].push_back(json);
    result.text += to_text(report, row);
    const Summary time = study::summarise(row.samples);
    result.csv +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}", row.point.algorithm, to_string(row.point.mesh),
                    row.point.size, row.point.ranks, time.min, time.median, time.low, time.high,
                    1e-9 * row.flops / time.median, row.speedup, row.efficiency, row.balance);
    result.csv += row.device
                      ? fmt::format(",{},{},{}", row.device->cycles, row.device->exposed, row.device->words)
                      : std::string(",,,");
    result.csv += fmt::format(",{},{}\n", row.good ? "ok" : "FAILED", row.comparable ? "yes" : "no");
  }
  if (!report.earlier.empty())
    result.text += fmt::format(
        "{} of {} rows are slower than before by more than {:.0f}%, with intervals that do not meet\n",
        report.slower, report.rows.size(), 100.0 * report.tolerance);
  return result;
}

}  // namespace wafer::app

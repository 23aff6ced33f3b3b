#include "report/ledger_report.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <vector>

#include "support/catch.hpp"
#include "support/test_device.hpp"

namespace wafer::report {
namespace {

using plmr::Execution, plmr::Memory, plmr::Operator;
using test::contains;

constexpr plmr::Ticks cycle = plmr::ticks_per_cycle;

bool close(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

// One operator whose costs differ with the core, the layer and the call.
void run_operator(Execution& execution, const char* name, Index n) {
  const Operator op(&execution, name);
  execution.enter();
  execution.compute([n](Index y, Index x) { return (n + 3 * y + x) * cycle / 4; });
  execution.wait_until(execution.now() + n * cycle);
  execution.count(n, 10 * n, 30 * n, 2 + n % 3);
  execution.use_routes("", 1 + n % 2);
}

// Two phases on 2 x 3 cores: three layers with two operators each, and one operator outside the layers.
void run_model(Execution& execution) {
  Index n = 1;
  for (const char* phase : {"prefill", "decode"}) {
    execution.phase(phase);
    execution.layer(-1);
    run_operator(execution, "embedding", n++);
    for (Index layer = 0; layer < 3; ++layer) {
      execution.layer(layer);
      run_operator(execution, "qkv", n++);
      run_operator(execution, "softmax", n++);
    }
  }
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::map<std::string, std::string>> csv_rows(const std::string& text) {
  const auto fields = [](const std::string& line) {
    std::vector<std::string> values;
    std::istringstream stream(line);
    for (std::string value; std::getline(stream, value, ',');) values.push_back(value);
    return values;
  };
  const auto lines = lines_of(text);
  const auto names = fields(lines.at(0));
  std::vector<std::map<std::string, std::string>> rows;
  for (std::size_t l = 1; l < lines.size(); ++l) {
    const auto values = fields(lines[l]);
    REQUIRE(values.size() == names.size());
    rows.emplace_back();
    for (std::size_t v = 0; v < values.size(); ++v) rows.back()[names[v]] = values[v];
  }
  return rows;
}

const std::vector<std::string> summed = {"calls",        "cycles",        "cycles_mean",  "compute_mean",
                                         "compute_max",  "software_mean", "exposed_mean", "exposed_max",
                                         "exposed_last", "messages",      "words",        "word_hops"};
const std::vector<std::string> largest = {"longest_path", "routes"};

// Of the CSV rows that a JSON row stands for: sums, and the largest path and router.
template <class Picks>
void check_against_csv(const io::Json& row, const std::vector<std::map<std::string, std::string>>& csv,
                       Picks picks) {
  for (const std::string& name : summed) {
    double sum = 0.0;
    for (const auto& line : csv) sum += picks(line) ? std::stod(line.at(name)) : 0.0;
    CAPTURE(name);
    CHECK(close(row[name].get<double>(), sum));
  }
  for (const std::string& name : largest) {
    double most = 0.0;
    for (const auto& line : csv) most = std::max(most, picks(line) ? std::stod(line.at(name)) : 0.0);
    CAPTURE(name);
    CHECK(row[name].get<double>() == most);
  }
}

TEST_CASE("JSON has the sums of the CSV's rows: in total, by phase and by operator") {
  Execution execution(test::odd_device(), {2, 3}, {2, false});
  run_model(execution);
  const auto csv = csv_rows(ledger_csv(execution));
  REQUIRE(csv.size() == 2 * 7);
  const io::Json json = ledger_json(execution, false);
  using Line = std::map<std::string, std::string>;
  check_against_csv(json["total"], csv, [](const Line&) { return true; });
  REQUIRE(json["phases"].size() == 2);
  for (const std::string phase : {"prefill", "decode"})
    check_against_csv(json["phases"][phase], csv,
                      [&](const Line& line) { return line.at("phase") == phase; });
  REQUIRE(json["operators"].size() == 2 * 3);
  for (const io::Json& row : json["operators"]) {
    CHECK_FALSE(row.contains("layer"));
    check_against_csv(row, csv, [&](const Line& line) {
      return line.at("phase") == row["phase"] && line.at("operator") == row["operator"];
    });
  }
}

TEST_CASE("JSON by layers has the CSV's rows, in their order") {
  Execution execution(test::odd_device(), {2, 3}, {2, false});
  run_model(execution);
  const auto csv = csv_rows(ledger_csv(execution));
  const io::Json json = ledger_json(execution, true);
  REQUIRE(json["operators"].size() == csv.size());
  for (std::size_t r = 0; r < csv.size(); ++r) {
    const io::Json& row = json["operators"][r];
    CHECK(row["phase"] == csv[r].at("phase"));
    CHECK(row["operator"] == csv[r].at("operator"));
    CHECK(row["layer"] == std::stol(csv[r].at("layer")));
    CHECK(close(row["idle_share"].get<double>(), std::stod(csv[r].at("idle_share"))));
    check_against_csv(row, {csv[r]}, [](const auto&) { return true; });
  }
  CHECK(json["total"] == ledger_json(execution, false)["total"]);
}

TEST_CASE("the cores' own cycles are computing, software and waiting, and nothing else") {
  Execution execution(test::odd_device(), {2, 3}, {2, false});
  run_model(execution);
  const io::Json json = ledger_json(execution, true);
  for (const io::Json& row : json["operators"]) {
    const auto value = [&](const char* name) { return row[name].get<double>(); };
    CHECK(
        close(value("cycles_mean"), value("compute_mean") + value("software_mean") + value("exposed_mean")));
    CHECK(close(value("idle_share"), value("exposed_mean") / value("cycles_mean")));
    CHECK(value("exposed_mean") > 0.0);
  }
}

TEST_CASE("JSON says what ran where, how long it took and what the fullest core held") {
  Execution execution(test::odd_device(), {2, 3}, {4, false});
  execution.hold(Memory::weights, {1, 2, 3, 4, 50, 6}, 1);
  execution.hold(Memory::cache, {1, 1, 1, 1, 7, 1}, 1);
  run_model(execution);
  const io::Json json = ledger_json(execution, false);
  CHECK(json["device"] == "test");
  CHECK(json["mesh"] == "2x3");
  CHECK(json["element_bytes"] == 4);
  CHECK(json["cycles"] == plmr::to_cycles(execution.now()));
  CHECK(close(json["seconds"].get<double>(), plmr::to_cycles(execution.now()) / 1e9));
  CHECK(json["memory"]["core"] == io::Json({1, 1}));
  CHECK(json["memory"]["bytes"] == 57);
  CHECK(json["memory"]["weights"] == 50);
  CHECK(json["memory"]["cache"] == 7);
  CHECK(json["memory"]["buffers"] == 0);
  CHECK(json["memory"]["sram"] == 49152);
  for (const char* letter : {"P", "L", "M", "R"}) {
    CHECK(json["plmr"][letter]["met"].is_boolean());
    CHECK_FALSE(json["plmr"][letter]["number"].get<std::string>().empty());
    CHECK_FALSE(json["plmr"][letter]["criterion"].get<std::string>().empty());
  }
}

// Lines of the text that begin with `start`, leading blanks aside.
std::ptrdiff_t lines_with(const std::string& text, const std::string& start) {
  const auto lines = lines_of(text);
  return std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
    const auto first = line.find_first_not_of(' ');
    return first != std::string::npos && line.compare(first, start.size(), start) == 0;
  });
}

TEST_CASE("the text has one row for each operator of each phase, a total, and the four PLMR lines") {
  Execution execution(test::odd_device(), {2, 3}, {2, false});
  run_model(execution);
  const std::string text = ledger_text(execution);
  for (const char* name : {"embedding ", "qkv ", "softmax ", "total "}) CHECK(lines_with(text, name) == 2);
  for (const char* name : {"prefill ", "decode "}) CHECK(lines_with(text, name) == 1);
  for (const char* letter : {"P  ", "L  ", "M  ", "R  "}) CHECK(lines_with(text, letter) == 1);
  CHECK(lines_of(text).size() == 1 + 2 * (1 + 3 + 1) + 4);
  CHECK_THAT(text, contains("test, mesh 2x3, 2 bytes an element"));
  const std::string plmr = compliance_text(execution);
  CHECK(text.substr(text.size() - plmr.size()) == plmr);
  CHECK(lines_of(plmr).size() == 4);
}

TEST_CASE("memory that is violated is said with the core, its bytes and their kinds") {
  Execution execution(test::odd_device(), {2, 3}, {2, false});
  execution.hold(Memory::cache, {0, 0, 0, 0, 0, 2048}, 1);
  execution.hold(Memory::weights, {0, 0, 0, 0, 0, 49152}, 1);
  execution.hold(Memory::buffers, {0, 0, 0, 0, 0, 512}, 1);
  CHECK_THAT(compliance_text(execution), contains("M  VIOLATED  50.5 KiB at core (1, 2)") &&
                                             contains("weights 48.0 KiB, cache 2.0 KiB, buffers 512 B") &&
                                             contains("48.0 KiB a core"));
  CHECK(ledger_json(execution, false)["plmr"]["M"]["met"] == false);
  CHECK_THAT(ledger_json(execution, false)["plmr"]["M"]["number"].get<std::string>(),
             contains("core (1, 2)"));
}

TEST_CASE("memory that is just full is met") {
  Execution execution(test::odd_device(), {1, 1}, {2, false});
  execution.hold(Memory::weights, {49152}, 1);
  CHECK_THAT(compliance_text(execution), contains("M  met "));
  execution.hold(Memory::buffers, {1}, 1);
  CHECK_THAT(compliance_text(execution), contains("M  VIOLATED "));
}

TEST_CASE("each of the other properties is said to be violated where it is") {
  Execution execution(test::odd_device(), {1, 2}, {2, false});
  {
    const Operator op(&execution, "one core");
    execution.compute([](Index, Index x) { return x == 0 ? 10 * cycle : 0; });
    execution.wait_until(100 * cycle);
    execution.use_routes("many", 25);
  }
  const std::string text = compliance_text(execution);
  CHECK_THAT(text, contains("P  VIOLATED  1 of 2 cores"));
  CHECK_THAT(text, contains("L  VIOLATED  cores wait 95.0%"));
  CHECK_THAT(text, contains("R  VIOLATED  25 static paths") && contains("at most 24"));
}

TEST_CASE("the critical path is told where it was traced, and only there") {
  for (const bool traced : {false, true}) {
    Execution execution(test::odd_device(), {2, 2}, {2, false}, traced);
    run_model(execution);
    const io::Json json = ledger_json(execution, false);
    CHECK(json.contains("critical_path") == traced);
    CHECK(lines_with(ledger_text(execution), "critical path ") == (traced ? 1 : 0));
    if (traced) CHECK(json["critical_path"]["cycles"] == json["cycles"]);
  }
}

TEST_CASE("an execution in which nothing ran has an empty table and no shares that are no numbers") {
  const Execution execution(test::odd_device(), {1, 1}, {2, false});
  CHECK(lines_of(ledger_csv(execution)).size() == 1);
  const io::Json json = ledger_json(execution, true);
  CHECK(json["operators"].empty());
  CHECK(json["phases"].empty());
  CHECK(json["total"]["idle_share"] == 0.0);
  CHECK(json["cycles"] == 0.0);
  CHECK(lines_of(ledger_text(execution)).size() == 1 + 4);
}

}  // namespace
}  // namespace wafer::report

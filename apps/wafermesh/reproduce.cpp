// wafermesh reproduce: published numbers, what the model predicts for them, and how far off it is.
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "core/error.hpp"
#include "fabric/agree.hpp"
#include "report/device_file.hpp"
#include "study/published.hpp"
#include "wafermesh/common.hpp"

namespace wafer::app {

using fabric::Communicator;
using study::Bound, study::Comparison, study::Errors, study::Table;

namespace {

struct ReproduceFlags {
  OutputFlags output;
  std::vector<std::string> tables;
  bool calibration = false;
  std::string wse2, wse3;
};

// The ranks share the rows: each row is a dry run of its own.
void predict(const Communicator& world, std::vector<Table>& tables, const ReproduceFlags& flags) {
  std::vector<Comparison*> rows;
  for (Table& table : tables)
    for (Comparison& row : table.rows) rows.push_back(&row);
  std::vector<double> values(rows.size(), 0.0);
  fabric::agree(world, [&] {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (r % static_cast<std::size_t>(world.size()) != static_cast<std::size_t>(world.rank().value))
        continue;
      if (world.is_root())
        show_progress(world, flags.output.quiet, fmt::format("row {} of {}", r + 1, rows.size()));
      values[r] = rows[r]->predict();
    }
  });
  show_progress(world, flags.output.quiet, "");
  world.sum(values);
  for (std::size_t r = 0; r < rows.size(); ++r) rows[r]->predicted = values[r];
}

const char* word_for(const study::Claim& claim, const Table& table) {
  const bool holds = claim.holds(table.rows);
  if (!claim.must) return holds ? "so" : "not so";
  return holds ? "good" : "MISS";
}

void add_text(std::string& text, const Table& table) {
  text += fmt::format("{}: {}  [{}]\n", table.name, table.title, table.unit);
  std::size_t widest = 0;
  for (const Comparison& row : table.rows) widest = std::max(widest, row.label.size());
  for (const Comparison& row : table.rows)
    text += row.published == 0.0
                ? fmt::format("  {:<{}} {:>14.6g}\n", row.label, widest, row.predicted)
                : fmt::format("  {:<{}} {:>14.6g} {:>14.6g} {:>+8.2f}%{}\n", row.label, widest, row.predicted,
                              row.published, row.error(), row.fitted ? "  set parameters" : "");
  for (const Bound& bound : table.bounds) {
    const Errors errors = errors_of(table, bound.group, bound.of_fitted);
    const bool good = errors.rows > 0 && errors.mean <= bound.mean && errors.most <= bound.most;
    text += fmt::format("  {:<5} {}{}: {} rows, error mean {:.2f}% max {:.2f}%, asked {:g}% and {:g}%\n",
                        good ? "good" : "MISS", bound.group, bound.of_fitted ? " (set parameters)" : "",
                        errors.rows, errors.mean, errors.most, bound.mean, bound.most);
  }
  for (const auto& claim : table.claims)
    text += fmt::format("  {:<5} {}\n", word_for(claim, table), claim.text);
  text += "  note  " + table.note + "\n\n";
}

io::Json to_json(const Table& table) {
  io::Json rows = io::Json::array(), bounds = io::Json::array(), claims = io::Json::array();
  for (const Comparison& row : table.rows)
    rows.push_back({{"label", row.label},
                    {"group", row.group},
                    {"predicted", row.predicted},
                    {"published", row.published},
                    {"error_percent", row.error()},
                    {"set_parameters", row.fitted}});
  for (const Bound& bound : table.bounds) {
    const Errors errors = errors_of(table, bound.group, bound.of_fitted);
    bounds.push_back({{"group", bound.group},
                      {"rows", errors.rows},
                      {"set_parameters", bound.of_fitted},
                      {"mean_percent", errors.mean},
                      {"max_percent", errors.most},
                      {"asked_mean_percent", bound.mean},
                      {"asked_max_percent", bound.most}});
  }
  for (const auto& claim : table.claims)
    claims.push_back({{"claim", claim.text}, {"holds", claim.holds(table.rows)}, {"must", claim.must}});
  return {{"title", table.title}, {"unit", table.unit}, {"rows", rows},        {"bounds", bounds},
          {"claims", claims},     {"note", table.note}, {"good", holds(table)}};
}

Result to_result(const std::vector<Table>& tables) {
  Result result;
  result.csv = "table,row,group,predicted,published,error_percent,set_parameters\n";
  for (const Table& table : tables) {
    result.json[table.name] = to_json(table);
    add_text(result.text, table);
    for (const Comparison& row : table.rows)
      result.csv += fmt::format("{},{},{},{},{},{},{}\n", table.name, row.label, row.group, row.predicted,
                                row.published, row.error(), row.fitted ? 1 : 0);
  }
  return result;
}

study::Sources open_sources(const Communicator& world, const ReproduceFlags& flags) {
  study::Sources sources;
  fabric::agree(world, [&] {
    const auto device = [](const std::string& file, const char* otherwise) {
      return report::read_device(file.empty() ? data_file(std::string("devices/") + otherwise) : file);
    };
    sources = {data_file("paper"), device(flags.wse2, "wse2.json"), device(flags.wse3, "wse3.json"),
               device("", "wse2-sdk-summa.json")};
  });
  return sources;
}

int reproduce(const Communicator& world, const ReproduceFlags& flags) {
  flags.output.check(world);
  const study::Sources sources = open_sources(world, flags);
  std::vector<Table> tables;
  for (const std::string& name : flags.tables) {
    if (name != "all") {
      tables.push_back(study::make_table(name, sources));
      continue;
    }
    for (const std::string& each : study::table_names()) tables.push_back(study::make_table(each, sources));
  }
  if (flags.calibration)
    for (Table& table : tables) {
      const auto proves = [](const Comparison& row) { return !row.fitted; };
      table.rows.erase(std::remove_if(table.rows.begin(), table.rows.end(), proves), table.rows.end());
    }
  predict(world, tables, flags);
  flags.output.deliver(world, [&] { return to_result(tables); });
  const bool good = flags.calibration || std::all_of(tables.begin(), tables.end(), study::holds);
  return static_cast<int>(good ? ExitCode::good : ExitCode::verification);
}

}  // namespace

void add_reproduce(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("reproduce", "published numbers against the model's predictions");
  const auto flags = std::make_shared<ReproduceFlags>();
  flags->output.add_to(*command);
  std::string names;
  for (const std::string& name : study::table_names()) names += name + ", ";
  command->add_option("table", flags->tables, names + "or all")->required();
  command->add_flag("--calibration", flags->calibration,
                    "only the rows that set parameters; no bound is held");
  command->add_option("--wse2", flags->wse2, "another device file in place of data/devices/wse2.json");
  command->add_option("--wse3", flags->wse3, "another device file in place of data/devices/wse3.json");
  command->footer("Example: mpirun -n 2 wafermesh reproduce table4");
  command->callback(
      [&chosen, flags] { chosen = [flags](const Communicator& world) { return reproduce(world, *flags); }; });
}

}  // namespace wafer::app

#include "study/comparison.hpp"

#include <cmath>
#include <limits>

#include "support/catch.hpp"

namespace wafer::study {
namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

Comparison row(const std::string& group, double published, double predicted, bool fitted = false) {
  Comparison comparison;
  comparison.label = group;
  comparison.group = group;
  comparison.published = published;
  comparison.predicted = predicted;
  comparison.fitted = fitted;
  return comparison;
}

Table table_of(std::vector<Comparison> rows, std::vector<Bound> bounds = {}) {
  Table table;
  table.rows = std::move(rows);
  table.bounds = std::move(bounds);
  return table;
}

TEST_CASE("an error is relative to what was published, with its sign") {
  CHECK(std::abs(row("a", 200, 210).error() - 5.0) < 1e-9);
  CHECK(std::abs(row("a", 200, 190).error() + 5.0) < 1e-9);
  CHECK(row("a", 200, 200).error() == 0.0);
}

TEST_CASE("a group's errors are of its own rows, above and below alike") {
  const Table table = table_of({row("a", 100, 101), row("a", 100, 97), row("b", 100, 150)});
  const Errors errors = errors_of(table, "a", false);
  CHECK(errors.rows == 2);
  CHECK(std::abs(errors.mean - 2.0) < 1e-9);
  CHECK(std::abs(errors.most - 3.0) < 1e-9);
}

TEST_CASE("rows that set a parameter are kept apart from those that did not") {
  const Table table = table_of({row("a", 100, 100, true), row("a", 100, 110), row("a", 100, 104, true)});
  CHECK(errors_of(table, "a", false).rows == 1);
  CHECK(std::abs(errors_of(table, "a", false).mean - 10.0) < 1e-9);
  CHECK(errors_of(table, "a", true).rows == 2);
  CHECK(std::abs(errors_of(table, "a", true).mean - 2.0) < 1e-9);
  CHECK(std::abs(errors_of(table, "a", true).most - 4.0) < 1e-9);
}

TEST_CASE("a group without rows has no errors") {
  const Errors errors = errors_of(table_of({row("a", 1, 2)}), "b", false);
  CHECK(errors.rows == 0);
  CHECK(errors.mean == 0.0);
  CHECK(errors.most == 0.0);
}

TEST_CASE("a bound holds up to its mean and its most, each") {
  const std::vector<Comparison> rows = {row("a", 128, 128), row("a", 128, 132)};  // 0% and 3.125%
  CHECK(holds(table_of(rows, {{"a", 1.5625, 3.125}})));
  CHECK_FALSE(holds(table_of(rows, {{"a", 1.5, 3.125}})));
  CHECK_FALSE(holds(table_of(rows, {{"a", 1.5625, 3.0}})));
  CHECK_FALSE(holds(table_of(rows, {{"a", 5, 5}, {"a", 1, 1}})));
}

TEST_CASE("a bound asks the rows that it is of, fitted or not") {
  const std::vector<Comparison> rows = {row("a", 100, 100, true), row("a", 100, 110)};
  CHECK(holds(table_of(rows, {{"a", 1, 1, true}})));
  CHECK_FALSE(holds(table_of(rows, {{"a", 1, 1, false}})));
}

TEST_CASE("a bound over no rows does not hold") {
  CHECK_FALSE(holds(table_of({}, {{"a", 100, 100}})));
  CHECK_FALSE(holds(table_of({row("b", 1, 1)}, {{"a", 100, 100}})));
  CHECK_FALSE(holds(table_of({row("a", 1, 1, true)}, {{"a", 100, 100}})));
  CHECK_FALSE(holds(table_of({row("a", 1, 1)}, {{"a", 100, 100, true}})));
  CHECK(holds(table_of({})));
}

TEST_CASE("a prediction that is no number is a miss, wherever it stands") {
  for (std::size_t place = 0; place < 3; ++place) {
    std::vector<Comparison> rows(3, row("a", 100, 100));
    rows[place].predicted = no_number;
    const Table table = table_of(rows, {{"a", 1e9, 1e9}});
    CHECK(std::isnan(errors_of(table, "a", false).mean));
    CHECK_FALSE(holds(table));
  }
  CHECK_FALSE(holds(table_of({row("a", 0, 1)}, {{"a", 1e9, 1e9}})));
  CHECK_FALSE(holds(table_of({row("a", 0, 0)}, {{"a", 1e9, 1e9}})));
}

TEST_CASE("a table holds only if every claim does, and a claim sees all rows") {
  Table table = table_of({row("a", 100, 100), row("b", 100, 300, true)}, {{"a", 1, 1}});
  const auto rising = [](const std::vector<Comparison>& rows) {
    return rows.size() == 2 && rows[0].predicted < rows[1].predicted;
  };
  table.claims = {{"rising", rising}};
  CHECK(holds(table));
  table.claims.push_back({"falling", [&](const std::vector<Comparison>& rows) { return !rising(rows); }});
  CHECK_FALSE(holds(table));
}

TEST_CASE("claims do not stand in for bounds") {
  Table table = table_of({row("a", 100, 200)}, {{"a", 1, 1}});
  table.claims = {{"always", [](const std::vector<Comparison>&) { return true; }}};
  CHECK_FALSE(holds(table));
}

}  // namespace
}  // namespace wafer::study

#pragma once

#include <functional>
#include <string>
#include <vector>

namespace wafer::study {

/// One published number and what predicts it.
struct Comparison {
  std::string label;
  std::string group;       // rows of one group share a bound
  double published = 0.0;  // 0: there is no number
  bool fitted = false;     // set a parameter of the device: its error proves nothing
  std::function<double()> predict;
  double predicted = 0.0;

  /// (predicted - published) / published. [%]
  double error() const { return 100.0 * (predicted / published - 1.0); }
};

/// What the errors of the rows of a group that set no parameter must keep to; fitted ones where `of_fitted`.
struct Bound {
  std::string group;
  double mean = 0.0;  // of the absolute errors [%]
  double most = 0.0;  // [%]
  bool of_fitted = false;
};

/// A fact about the predictions, such as an order, that must hold; or one that the paper states and that is
/// only shown.
struct Claim {
  std::string text;
  std::function<bool(const std::vector<Comparison>&)> holds;
  bool must = true;
};

/// A table of the paper, or a set of measurements, to be held against the model.
struct Table {
  std::string name;
  std::string title;
  std::string unit;
  std::vector<Comparison> rows;
  std::vector<Bound> bounds;
  std::vector<Claim> claims;
  std::string note;
};

/// Mean and largest absolute error of a group's rows, and how many there are.
struct Errors {
  double mean = 0.0;
  double most = 0.0;
  std::size_t rows = 0;
};
Errors errors_of(const Table& table, const std::string& group, bool fitted);

/// Whether every bound and claim holds. A bound over no rows does not.
bool holds(const Table& table);

}  // namespace wafer::study

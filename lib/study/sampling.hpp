#pragma once

#include <vector>

namespace wafer::study {

/// What repeated measurements of one thing say.
struct Summary {
  double min = 0.0;
  double median = 0.0;
  double low = 0.0;   // the median lies between low and high with 95% confidence, whatever the
  double high = 0.0;  // distribution; for fewer than 6 samples that is their whole range, and less is sure
};

/// Order statistics: the interval ends at the samples whose ranks a fair coin leaves out with 2.5% on either
/// side. Cost: O(n log n).
/// @pre at least one sample
Summary summarise(std::vector<double> samples);

}  // namespace wafer::study

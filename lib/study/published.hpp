#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "plmr/device.hpp"
#include "study/benchmarked.hpp"
#include "study/comparison.hpp"

namespace wafer::study {

/// Where the published numbers are and which devices they are held against.
struct Sources {
  std::filesystem::path paper;  // data/paper
  plmr::Device wse2, wse3, wse2_summa;
};

/// A model as the paper's authors timed it: one layer, times the number of layers.
struct BenchmarkedModel {
  std::string name;
  Index hidden, ffn, layers, kv_hidden;  // kv_hidden: of keys, all heads; only table 5 knows it
  /// What a core of a P x P mesh holds: dimensions and tokens padded to multiples of P; the authors padded
  /// the tokens to the width of the 8B model's dimensions where they ran it.
  BenchmarkedTiles tiles(Index P, Index tokens) const;
  /// Tokens a second of a prompt, and of decode with a context.
  double prefill_rate(const plmr::Device& device, Index P, Index tokens) const;
  double decode_rate(const plmr::Device& device, Index P, Index context) const;
};
const std::vector<BenchmarkedModel>& benchmarked_models();
const BenchmarkedModel& benchmarked_model(const std::string& name);

/// The tables by name: table2 to table8, fig9, fig10, wse2-summa, wse3-gemm, wse3-gemv, single-core,
/// closed-forms.
std::vector<std::string> table_names();
/// @throws UsageError for another name; InputError for what is wrong with data/paper
Table make_table(const std::string& name, const Sources& sources);

// One builder for each kind of source.
Table prefill_table(const Sources& sources);              // table 3
Table decode_table(const Sources& sources);               // table 4
Table end_to_end_table(const Sources& sources);           // table 2
Table cache_table(const Sources& sources);                // table 5
Table gemv_table(const Sources& sources);                 // table 6
Table energy_table(const Sources& sources, bool decode);  // tables 7 and 8
Table summa_table(const Sources& sources);
Table wse3_gemm_table(const Sources& sources);
Table wse3_gemv_table(const Sources& sources);
Table single_core_table(const Sources& sources);
Table closed_forms_table();
Table gemm_figure(const Sources& sources);  // figure 9
Table gemv_figure(const Sources& sources);  // figure 10

}  // namespace wafer::study

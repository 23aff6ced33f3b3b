#include "ops/rope.hpp"

#include <cmath>

#include "core/random.hpp"
#include "support/catch.hpp"

using namespace wafer;
using ops::HeadLayout;

TEST_CASE("queries and keys of every column turn by their positions, queries are scaled, values stay",
          "[ops]") {
  const Index kv_heads = 2;
  const Index group = 3;
  const Index d = 10;
  const Index tokens = 3;
  const Index first_position = 4000;
  const ops::RopeFrequencies frequencies{{1.0, 0.3, 0.1, 0.02, 0.001}, 1.25};
  for (const Index columns : {1, 2, 3, 7, 13}) {
    const HeadLayout heads(columns, kv_heads, group, d);
    for (Index x = 0; x < columns; ++x) {
      const auto rows = heads.fused().indices(x);
      const auto width = static_cast<Index>(rows.size());
      const auto before = [&](Index token, Index row) {
        return Random(3, static_cast<std::uint64_t>(token)).normal(static_cast<std::uint64_t>(row));
      };
      std::vector<float> memory(at(tokens * width) + 1);
      const MatrixView<float> block(memory.data(), {tokens, width});
      for (Index m = 0; m < tokens; ++m)
        for (Index k = 0; k < width; ++k) block(m, k) = before(m, rows[at(k)]);

      ops::rope(heads, x, frequencies, first_position, block);

      const double query_scale = 1.0 / std::sqrt(static_cast<double>(d));
      for (Index m = 0; m < tokens; ++m)
        for (Index k = 0; k < width; ++k) {
          const Index row = rows[at(k)];
          const Index dim = row % d;
          double expected = before(m, row);
          if (row < kv_heads * (group + 1) * d) {
            const double angle =
                static_cast<double>(first_position + m) * frequencies.inverse[at(dim % (d / 2))];
            const bool is_first = dim < d / 2;
            const double partner = before(m, is_first ? row + d / 2 : row - d / 2);
            expected = expected * std::cos(angle) + (is_first ? -1.0 : 1.0) * partner * std::sin(angle);
            expected *= frequencies.scale * (row < kv_heads * group * d ? query_scale : 1.0);
          }
          CHECK(std::abs(block(m, k) - expected) <= 2e-6);
        }
    }
  }
}

#include "ops/storage.hpp"

#include <limits>

#include "kernels/rounding.hpp"
#include "ops/attention.hpp"
#include "ops/decode_attention.hpp"
#include "ops/operands.hpp"
#include "ops/plain_attention.hpp"

using namespace wafer;
using fabric::Fabric, fabric::Placement;
using mesh::Axis, mesh::CoreCoord, mesh::Mesh;
using ops::HeadLayout;
using test::PlainHeads;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
const std::vector<DType> narrow_types = {DType::f16, DType::bf16};

float one(DType type, float value) {
  kernels::round_to(type, std::span(&value, 1));
  return value;
}

// Numbers of every sign and exponent, infinities and NaN included; a third of them ties of each type.
std::vector<float> all_kinds() {
  std::vector<float> values;
  for (std::uint32_t top = 0; top < 0x10000; top += 7)
    for (const std::uint32_t low : {0x0000U, 0x1000U, 0x3000U, 0x7fffU, 0x8000U, 0x8001U})
      values.push_back(std::bit_cast<float>((top << 16) | low));
  return values;
}

// Attention whose scores and exponentials are rounded when they are stored, otherwise in double.
std::vector<double> stored_attention(DType type, const PlainHeads& heads, const std::vector<float>& qkv) {
  const Index d = heads.head_dim;
  const Index tokens = static_cast<Index>(qkv.size()) / heads.width();
  std::vector<double> out(at(tokens * heads.query_width()), 0.0);
  for (Index t = 0; t < tokens; ++t)
    for (Index h = 0; h < heads.group; ++h) {
      const float* query = qkv.data() + t * heads.width() + h * d;
      std::vector<float> scores(at(t + 1), 0.0F);
      for (Index s = 0; s <= t; ++s)
        for (Index k = 0; k < d; ++k)
          scores[at(s)] += query[k] * qkv[at(s * heads.width() + heads.query_width() + k)];
      scores = test::rounded(scores, type);
      const float most = *std::max_element(scores.begin(), scores.end());
      double sum = 0.0;
      for (float& score : scores) sum += score = std::exp(score - most);
      scores = test::rounded(scores, type);
      for (Index s = 0; s <= t; ++s)
        for (Index k = 0; k < d; ++k)
          out[at(t * heads.query_width() + h * d + k)] +=
              scores[at(s)] / sum * qkv[at(s * heads.width() + heads.query_width() + d + k)];
    }
  return out;
}

// Multiples of 1/128, so that a score in float32 is exact in any order.
std::vector<float> coarse(Index count) {
  auto values = test::normals(count, 5);
  for (float& value : values) value = std::round(value * 128.0F) / 128.0F;
  return values;
}

constexpr PlainHeads heads{1, 3, 8};
constexpr Index tokens = 13;

std::vector<float> prefill_on(const Fabric& fabric, const std::vector<float>& qkv, DType type) {
  const HeadLayout layout(fabric.mesh().width, heads.kv_heads, heads.group, heads.head_dim);
  const auto placement = Placement::plain(Partition::even(tokens, fabric.mesh().height), layout.fused());
  return fabric::gather(fabric,
                        ops::attention(fabric, layout, test::placed(fabric, placement, qkv), 0, type));
}

// The last token's, on a mesh of one column whose rows have the tokens in turn.
std::vector<float> decode_on(const Fabric& fabric, const std::vector<float>& qkv, DType type) {
  const HeadLayout layout(1, heads.kv_heads, heads.group, heads.head_dim);
  const Partition rows = Partition::even(tokens, fabric.mesh().height);
  const auto entries = [&](Index row, Index offset) {
    return MatrixView<const float>(qkv.data(), {tokens, heads.width()})
        .block(rows.offset(row), heads.query_width() + offset, {rows.size(row), heads.head_dim});
  };
  const ops::CacheView cache = {[&](CoreCoord core) { return entries(core.y, 0); },
                                [&](CoreCoord core) { return entries(core.y, heads.head_dim); },
                                [&](Index row) { return rows.size(row); },
                                [&](Index row, Index n) { return rows.offset(row) + n; }, type};
  const std::vector<float> last(qkv.end() - heads.width(), qkv.end());
  const auto token = test::placed(fabric, Placement::copied(Axis::y, layout.fused()), last);
  return fabric::gather(fabric, ops::DecodeAttention(fabric, layout).run(token, cache, tokens - 1, 0));
}

}  // namespace

TEST_CASE("a half has 11 bits, ends at 65504 and goes down to 2^-24; ties go to even", "[ops]") {
  CHECK(one(DType::f16, 1.0F + 0x1p-11F) == 1.0F);
  CHECK(one(DType::f16, 1.0F + 0x3p-11F) == 1.0F + 0x1p-9F);
  CHECK(one(DType::f16, -1.0F - 0x1.002p-11F) == -1.0F - 0x1p-10F);
  CHECK(one(DType::f16, 65519.0F) == 65504.0F);
  CHECK(one(DType::f16, 65520.0F) == infinity);
  CHECK(one(DType::f16, -1e30F) == -infinity);
  CHECK(one(DType::f16, 0x3p-25F) == 0x1p-23F);
  CHECK(one(DType::f16, 0x1.002p-25F) == 0x1p-24F);
  CHECK((one(DType::f16, -0x1p-25F) == 0.0F && std::signbit(one(DType::f16, -0x1p-25F))));
}

TEST_CASE("a bfloat16 has 8 bits and float32's exponents; ties go to even", "[ops]") {
  CHECK(one(DType::bf16, 1.0F + 0x1p-8F) == 1.0F);
  CHECK(one(DType::bf16, 1.0F + 0x3p-8F) == 1.0F + 0x1p-6F);
  CHECK(one(DType::bf16, -1.0F - 0x1.02p-8F) == -1.0F - 0x1p-7F);
  CHECK(one(DType::bf16, 65520.0F) == 65536.0F);
  CHECK(one(DType::bf16, std::numeric_limits<float>::max()) == infinity);
  CHECK(one(DType::bf16, 0x1p-133F) == 0x1p-133F);
  CHECK(one(DType::bf16, 0x1p-134F) == 0.0F);
}

TEST_CASE("infinities, zeros and NaN stay what they are in every type", "[ops]") {
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    CHECK(one(type, infinity) == infinity);
    CHECK(one(type, -infinity) == -infinity);
    CHECK(std::isnan(one(type, std::numeric_limits<float>::quiet_NaN())));
    CHECK((one(type, -0.0F) == 0.0F && std::signbit(one(type, -0.0F))));
  }
}

TEST_CASE("stored blocks have the bits of the types' own conversion, on every tiling; float32 stays",
          "[ops]") {
  auto values = all_kinds();
  const auto rows = static_cast<Index>(values.size()) / 331;
  values.resize(at(rows * 331));
  for (const Mesh mesh : {Mesh{1, 1}, Mesh{2, 3}, Mesh{7, 5}})
    test::on_every_tiling(mesh, [&](const Fabric& fabric) {
      const auto plain = Placement::plain(Partition::even(rows, mesh.height), test::dealt(331, mesh.width));
      for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
        auto X = test::placed(fabric, plain, values);
        ops::store_as(fabric, type, X);
        CHECK(test::differing(fabric::gather(fabric, X), test::rounded(values, type)) == 0);
      }
    });
}

TEST_CASE("every copy of a vector is stored rounded, and parts without elements are no trouble", "[ops]") {
  const auto values = test::normals(11, 1);
  for (const Mesh mesh : {Mesh{2, 3}, Mesh{3, 17}})
    test::on_every_tiling(mesh, [&](const Fabric& fabric) {
      for (const DType type : narrow_types) {
        const Partition parts = Partition::even(11, mesh.width);
        auto x = test::placed(fabric, Placement::copied(Axis::y, parts), values);
        ops::store_as(fabric, type, x);
        const auto expected = test::rounded(values, type);
        for (Index part = 0; part < parts.parts(); ++part)
          for (Index k = 0; k < parts.size(part) && x.here(0, part); ++k)
            CHECK(x.vector(part)[at(k)] == expected[at(parts.indices(part)[at(k)])]);
      }
    });
}

TEST_CASE("narrowed elements have the bits of the types' own conversion", "[ops]") {
  const auto values = all_kinds();
  std::vector<std::uint16_t> half(values.size()), brain(values.size());
  std::vector<float> same(values.size());
  kernels::narrow(DType::f16, values, reinterpret_cast<std::byte*>(half.data()));
  kernels::narrow(DType::bf16, values, reinterpret_cast<std::byte*>(brain.data()));
  kernels::narrow(DType::f32, values, reinterpret_cast<std::byte*>(same.data()));
  int wrong = 0;
  for (std::size_t k = 0; k < values.size(); ++k)
    wrong += half[k] == f16_of(values[k]) && brain[k] == bf16_of(values[k]) &&
                     std::bit_cast<std::uint32_t>(same[k]) == std::bit_cast<std::uint32_t>(values[k])
                 ? 0
                 : 1;
  CHECK(wrong == 0);
}

TEST_CASE("attention stores its scores and their exponentials in the storage's type", "[ops]") {
  const auto qkv = coarse(tokens * heads.width());
  const auto unrounded = test::plain_attention(heads, qkv, 0);
  for (const DType type : narrow_types) {
    const auto expected = stored_attention(type, heads, qkv);
    const auto last = std::span(expected).last(at(heads.query_width()));
    for (const Mesh mesh : {Mesh{1, 1}, Mesh{2, 3}, Mesh{5, 2}}) {
      CAPTURE(mesh::to_string(mesh), name_of(type));
      const auto alone =
          test::on_one_rank(mesh, [&](const Fabric& fabric) { return prefill_on(fabric, qkv, type); });
      CHECK(test::distance(alone, expected) <= 1e-6);
      CHECK(test::distance(alone, unrounded) >= 1e-4);
      test::on_every_tiling(mesh, [&](const Fabric& fabric) {
        CHECK(test::differing(prefill_on(fabric, qkv, type), alone) == 0);
      });
    }
    for (const Mesh mesh : {Mesh{1, 1}, Mesh{3, 1}, Mesh{17, 1}}) {
      CAPTURE(mesh::to_string(mesh), name_of(type));
      const auto alone =
          test::on_one_rank(mesh, [&](const Fabric& fabric) { return decode_on(fabric, qkv, type); });
      CHECK(test::distance(alone, last) <= 1e-6);
      test::on_every_tiling(mesh, [&](const Fabric& fabric) {
        CHECK(test::differing(decode_on(fabric, qkv, type), alone) == 0);
      });
    }
  }
}

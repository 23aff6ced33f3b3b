#include "tensor/view.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "tensor/aligned_buffer.hpp"
#include "tensor/typed_view.hpp"

using namespace wafer;

TEST_CASE("a block shares memory and keeps the stride", "[tensor]") {
  std::vector<float> memory = {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23};
  const MatrixView<float> whole(memory.data(), {3, 4});
  const auto block = whole.block(1, 1, {2, 2});
  CHECK(block.stride() == 4);
  CHECK(block(1, 1) == 22);
  block(0, 1) = 99;
  CHECK(whole(1, 2) == 99);
  CHECK(block.row(1).size() == 2);
  CHECK(block.row(1)[0] == 21);
}

TEST_CASE("a view that writes becomes one that reads", "[tensor]") {
  std::vector<float> memory = {1, 2, 3, 4};
  const MatrixView<float> view(memory.data(), {1, 2}, 3);
  const MatrixView<const float> read = view;
  CHECK(read.data() == memory.data());
  CHECK(read.shape() == Shape{1, 2});
  CHECK(read.stride() == 3);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<MatrixView<float>, MatrixView<const float>>);
}

TEST_CASE("blocks without rows or columns can be made at the edges", "[tensor]") {
  std::vector<float> memory(6);
  const MatrixView<float> whole(memory.data(), {2, 3});
  CHECK(whole.block(2, 0, {0, 3}).shape().size() == 0);
  CHECK(whole.block(0, 3, {2, 0}).row(1).empty());
  CHECK(MatrixView<float>().shape() == Shape{0, 0});
}

TEST_CASE("an element is widened from whatever type it is stored as", "[tensor]") {
  const std::vector<std::uint16_t> bf16 = {0x3f80, 0xc000, 0x3fc0};  // 1, -2, 1.5
  const std::vector<std::uint16_t> f16 = {0x3c00, 0xc000, 0x3e00};
  const std::vector<float> f32 = {1, -2, 1.5};
  const auto bytes = [](const auto& v) { return reinterpret_cast<const std::byte*>(v.data()); };
  for (const TypedView& view :
       {TypedView{DType::bf16, bytes(bf16), {3, 1}}, TypedView{DType::f16, bytes(f16), {3, 1}},
        typed(MatrixView<const float>(f32.data(), {3, 1}))}) {
    CHECK(view.at(0, 0) == 1);
    CHECK(view.at(1, 0) == -2);
    CHECK(view.at(2, 0) == 1.5F);
    CHECK(view.rows() == 3);
    CHECK(view.cols() == 1);
  }
}

TEST_CASE("an aligned buffer begins aligned, is zero, and passes its memory on when moved", "[tensor]") {
  for (const std::size_t bytes : {1, 63, 64, 65, 1000}) {
    AlignedBuffer buffer(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % block_alignment == 0);
    CHECK(buffer.bytes() == aligned(bytes));
    for (std::size_t k = 0; k < buffer.bytes(); ++k) CHECK(buffer.data()[k] == std::byte{0});
    const std::byte* memory = buffer.data();
    const AlignedBuffer moved = std::move(buffer);
    CHECK(moved.data() == memory);
  }
  CHECK(AlignedBuffer(0).data() == nullptr);
  CHECK(aligned(0) == 0);
  CHECK(aligned(64) == 64);
  CHECK(aligned(65) == 128);
}

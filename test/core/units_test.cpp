#include "core/units.hpp"

#include <array>
#include <cstddef>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/index.hpp"
#include "support/catch.hpp"

using namespace wafer;

TEST_CASE("bytes are given in the largest unit that leaves at least one", "[core]") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(812) == "812 B");
  CHECK(format_bytes(1023) == "1023 B");
  CHECK(format_bytes(1024) == "1.0 KiB");
  CHECK(format_bytes(1536) == "1.5 KiB");
  CHECK(format_bytes(5662310) == "5.4 MiB");
  CHECK(format_bytes(std::int64_t{3} << 30) == "3.0 GiB");
  CHECK(format_bytes(std::int64_t{5} << 40) == "5.0 TiB");
  CHECK(format_bytes(std::int64_t{2048} << 40) == "2048.0 TiB");
}

TEST_CASE("a hash has 16 hex digits", "[core]") {
  CHECK(format_hash(0) == "0000000000000000");
  CHECK(format_hash(0x00ff12ab34cd56efU) == "00ff12ab34cd56ef");
  CHECK(format_hash(~std::uint64_t{0}) == "ffffffffffffffff");
}

TEST_CASE("hash_bytes is 64-bit FNV-1a, and goes on where an earlier hash ended", "[core]") {
  constexpr std::array<std::byte, 6> foobar = {std::byte{'f'}, std::byte{'o'}, std::byte{'o'},
                                               std::byte{'b'}, std::byte{'a'}, std::byte{'r'}};
  CHECK(hash_bytes({}) == 0xcbf29ce484222325U);
  CHECK(hash_bytes(foobar) == 0x85944171f73967e8U);
  CHECK(hash_bytes(std::span(foobar).last(3), hash_bytes(std::span(foobar).first(3))) == hash_bytes(foobar));
}

TEST_CASE("wrap gives a number in [0, n) for every number", "[core]") {
  for (Index n = 1; n <= 7; ++n)
    for (Index a = -3 * n; a <= 3 * n; ++a) {
      const Index wrapped = wrap(a, n);
      CHECK(wrapped >= 0);
      CHECK(wrapped < n);
      CHECK((a - wrapped) % n == 0);
    }
}

TEST_CASE("part_offsets makes the first parts one longer than the others", "[core]") {
  CHECK(part_offsets(7, 3) == std::vector<Index>{0, 3, 5, 7});
  CHECK(part_offsets(2, 4) == std::vector<Index>{0, 1, 2, 2, 2});
  CHECK(part_offsets(0, 2) == std::vector<Index>{0, 0, 0});
  CHECK(part_offsets(5, 1) == std::vector<Index>{0, 5});
  CHECK_THROWS_AS(part_offsets(5, 0), InternalError);
  CHECK_THROWS_AS(part_offsets(-1, 2), InternalError);
}

#include "plmr/ledger.hpp"

#include "support/catch.hpp"

using wafer::Index;
using namespace wafer::plmr;

namespace {

// Charge with all numbers different: first, first + 1, ...
Charge numbers(Index first) {
  return {.calls = first,
          .cycles = first + 1,
          .advance_all = first + 2,
          .compute_all = first + 3,
          .software_all = first + 4,
          .exposed_all = first + 5,
          .compute_most = first + 6,
          .exposed_most = first + 7,
          .exposed_last = first + 8,
          .messages = first + 9,
          .words = first + 10,
          .word_hops = first + 11,
          .longest_path = first + 12,
          .routes = first + 13};
}

Charge scaled(Index first, Index step) {
  const auto value = [&](Index i) { return first + step * i; };
  return {value(0), value(1), value(2), value(3),  value(4),  value(5),  value(6),
          value(7), value(8), value(9), value(10), value(11), value(12), value(13)};
}

}  // namespace

TEST_CASE("charges of one operator add up, but for its longest path and its routes", "[plmr]") {
  Charge sum = numbers(100);
  sum.add(numbers(20));
  Charge expected = scaled(120, 2);
  expected.longest_path = 112;
  expected.routes = 113;
  CHECK(sum == expected);
  sum = numbers(20);
  sum.add(numbers(100));
  CHECK(sum == expected);
}

TEST_CASE("a charge multiplied is one added that many times", "[plmr]") {
  Charge product = numbers(7);
  product.multiply(3);
  Charge sum;
  for (int i = 0; i < 3; ++i) sum.add(numbers(7));
  CHECK(product == sum);
  Charge none = numbers(7);
  none.multiply(-1);
  none.add(numbers(7));
  Charge left;
  left.longest_path = 19;
  left.routes = 20;
  CHECK(none == left);
}

TEST_CASE("a ledger keeps one entry an account, in the order in which they first came", "[plmr]") {
  Ledger ledger;
  CHECK(ledger.entries().empty());
  ledger.add({"prefill", 1, "o"}, numbers(1));
  ledger.add({"prefill", 0, "qkv"}, numbers(2));
  ledger.add({"decode", 1, "o"}, numbers(3));
  ledger.add({"prefill", 1, "o"}, numbers(4));
  REQUIRE(ledger.entries().size() == 3);
  CHECK(ledger.entries()[0].account == Account{"prefill", 1, "o"});
  CHECK(ledger.entries()[1].account == Account{"prefill", 0, "qkv"});
  CHECK(ledger.entries()[2].account == Account{"decode", 1, "o"});
  CHECK(ledger.entries()[0].charge.calls == 5);
  CHECK(ledger.total([](const Account& account) { return account.phase == "prefill"; }).calls == 7);
  CHECK(ledger.total([](const Account& account) { return account.operation == "o"; }).calls == 8);
  CHECK(ledger.total([](const Account& account) { return account.layer == 2; }) == Charge{});
}

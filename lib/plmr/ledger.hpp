#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/index.hpp"
#include "plmr/clock.hpp"

namespace wafer::plmr {

/// What an operator cost, summed over its calls. Ticks with the ending _all are sums over all cores.
struct Charge {
  Index calls = 0;
  Ticks cycles = 0;        // by which the latest clock of the wafer advanced
  Ticks advance_all = 0;   // by which the cores' own clocks advanced ...
  Ticks compute_all = 0;   // ... computing,
  Ticks software_all = 0;  // ... posting and handling messages,
  Ticks exposed_all = 0;   // ... waiting: exposed communication
  Ticks compute_most = 0;  // of the core with the most
  Ticks exposed_most = 0;
  Ticks exposed_last = 0;  // of the core that finished last
  std::int64_t messages = 0;
  std::int64_t words = 0;  // of 32 bits, each counted once for every core that receives it
  std::int64_t word_hops = 0;
  Index longest_path = 0;  // hops of one message
  Index routes = 0;        // static paths through the router with the most

  /// Another call of the same operator.
  void add(const Charge& call);
  /// All but longest_path and routes, `times` over.
  void multiply(Index times);
  friend bool operator==(const Charge&, const Charge&) = default;
};

/// Where a charge belongs; layer -1 is outside the layers.
struct Account {
  std::string phase;
  Index layer = -1;
  std::string operation;
  friend bool operator<(const Account& a, const Account& b) {  // numbers first: they are compared fastest
    return std::tie(a.layer, a.operation, a.phase) < std::tie(b.layer, b.operation, b.phase);
  }
  friend bool operator==(const Account&, const Account&) = default;
};

/// What an execution cost, operator by operator, in the order in which the operators first ran.
class Ledger {
public:
  struct Entry {
    Account account;
    Charge charge;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  /// Where an account's charges are added up, among the entries.
  std::size_t place_of(const Account& account);
  void add(std::size_t place, const Charge& charge) { entries_[place].charge.add(charge); }
  void add(const Account& account, const Charge& charge) { add(place_of(account), charge); }
  const std::vector<Entry>& entries() const { return entries_; }

  /// Sums of the entries that `matches` picks.
  template <class Matches>
  Charge total(Matches matches) const {
    Charge sum;
    for (const Entry& entry : entries_)
      if (matches(entry.account)) sum.add(entry.charge);
    return sum;
  }
  friend bool operator==(const Ledger& a, const Ledger& b) { return a.entries_ == b.entries_; }

private:
  std::vector<Entry> entries_;
  std::map<Account, std::size_t> place_;
};

}  // namespace wafer::plmr

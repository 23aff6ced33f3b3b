#include "plmr/ledger.hpp"

#include <algorithm>

namespace wafer::plmr {

void Charge::add(const Charge& call) {
  calls += call.calls;
  cycles += call.cycles;
  advance_all += call.advance_all;
  compute_all += call.compute_all;
  software_all += call.software_all;
  exposed_all += call.exposed_all;
  compute_most += call.compute_most;
  exposed_most += call.exposed_most;
  exposed_last += call.exposed_last;
  messages += call.messages;
  words += call.words;
  word_hops += call.word_hops;
  longest_path = std::max(longest_path, call.longest_path);
  routes = std::max(routes, call.routes);
}

void Charge::multiply(Index times) {
  calls *= times;
  for (Ticks* ticks : {&cycles, &advance_all, &compute_all, &software_all, &exposed_all, &compute_most,
                       &exposed_most, &exposed_last})
    *ticks *= times;
  for (std::int64_t* count : {&messages, &words, &word_hops}) *count *= times;
}

std::size_t Ledger::place_of(const Account& account) {
  const auto [place, is_new] = place_.try_emplace(account, entries_.size());
  if (is_new) entries_.push_back({account, {}});
  return place->second;
}

}  // namespace wafer::plmr

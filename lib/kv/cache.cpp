#include "kv/cache.hpp"

#include <numeric>

#include "core/error.hpp"
#include "fabric/exchange.hpp"
#include "plmr/line_shift.hpp"

namespace wafer::kv {

using fabric::Blocks;
using mesh::CoreCoord;

namespace {

std::vector<Index> offsets_of(const std::vector<Index>& counts) {
  std::vector<Index> offsets = {0};
  for (const Index count : counts) offsets.push_back(offsets.back() + count);
  return offsets;
}

void push_back(std::vector<float>& to, std::span<const float> entry) {
  to.insert(to.end(), entry.begin(), entry.end());
}
void pop_front(std::vector<float>& from, Index width) { from.erase(from.begin(), from.begin() + width); }

}  // namespace

Cache::Cache(const fabric::Fabric& fabric, const ops::HeadLayout& heads, Index layers, Policy policy,
             Index counted)
    : fabric_(&fabric),
      heads_(&heads),
      policy_(policy),
      counted_(counted),
      filled_(at(fabric.mesh().height), 0),
      filled_offsets_(offsets_of(filled_)),
      counts_(filled_),
      offsets_(offsets_of(counts_)),
      before_(offsets_),
      entries_(at(layers), std::vector<Entries>(at(fabric.tile().columns.size()))),
      leases_(at(layers)),
      held_(at(layers), 0) {}

std::int64_t Cache::bytes() const {
  std::size_t floats = 0;
  for (const auto& layer : entries_)
    for (const Entries& column : layer) floats += column.keys.size() + column.values.size();
  return static_cast<std::int64_t>(floats * sizeof(float));
}

fabric::Placement Cache::placement(Index tokens) const {
  return fabric::Placement::plain(Partition::even(tokens, fabric_->mesh().height), heads_->key());
}

void Cache::fill(Index layer, const Blocks& keys, const Blocks& values) {
  const mesh::Tile& tile = fabric_->tile();
  tokens_ = keys.placement().rows().length();
  counts_ = filled_ = initial_counts(tokens_, fabric_->mesh().height);
  offsets_ = before_ = filled_offsets_ = offsets_of(counts_);
  hold(layer);
  for (Index x = tile.columns.begin; x < tile.columns.end; ++x) {
    Entries& column = entries(layer, x);
    WAFER_CHECK(column.keys.empty(), "a prompt fills an empty cache");
    for (Index y = tile.rows.begin; y < tile.rows.end; ++y) {
      push_back(column.keys, {keys(y, x).data(), at(keys.shape(y, x).size())});
      push_back(column.values, {values(y, x).data(), at(values.shape(y, x).size())});
    }
  }
}

void Cache::begin_token() {
  before_ = offsets_;
  add_token(policy_, counts_);
  offsets_ = offsets_of(counts_);
  ++tokens_;
}

void Cache::charge() {
  plmr::Execution* execution = fabric_->execution();
  if (execution == nullptr) return;
  const plmr::Operator charged(execution, "cache");
  std::vector<bool> hands_up(counts_.size(), false);  // a row whose first token now lies in the row above
  for (std::size_t y = 1; y < hands_up.size() && policy_ != Policy::round_robin; ++y)
    hands_up[y] = offsets_[y] > before_[y] && before_[y] < tokens_ - 1;
  std::vector<Index> words;
  for (const Index entry : heads_->key().sizes()) words.push_back(execution->cost().shift_words(2 * entry));
  plmr::hand_up(*execution, hands_up, words);
}

void Cache::hold(Index layer) {
  if (counted_ > 0 && layer >= counted_) return;
  held_[at(layer)] = tokens_;
  leases_[at(layer)] = {};  // before the new one, so that they do not count together
  leases_[at(layer)] = fabric::Lease(*fabric_, plmr::Memory::cache,
                                     [&](CoreCoord core) { return counts_[at(core.y)] * 2 * width(core.x); });
}

void Cache::hold_token(Index layer) {
  if (held_[at(layer)] == 0 || held_[at(layer)] + 1 != tokens_) return hold(layer);
  held_[at(layer)] = tokens_;
  if (fabric_->memory() == nullptr) return;
  if (grown_ != tokens_) {  // the same in all layers
    grown_ = tokens_;
    const mesh::Mesh mesh = fabric_->mesh();
    const Index element = fabric_->memory()->cost().precision().element_bytes;
    growth_.assign(at(mesh.cores()), 0);
    for (Index y = 0; y < mesh.height; ++y) {
      const Index more = counts_[at(y)] - (before_[at(y) + 1] - before_[at(y)]);
      for (Index x = 0; x < mesh.width && more > 0; ++x)
        growth_[at(y * mesh.width + x)] = more * 2 * width(x) * element;
    }
  }
  leases_[at(layer)].grow(growth_);
}

Index Cache::position(Index row, Index n) const {
  if (policy_ != Policy::round_robin) return offsets_[at(row)] + n;
  const Index filled = filled_[at(row)];
  if (n < filled) return filled_offsets_[at(row)] + n;
  const Index rows = fabric_->mesh().height;
  const Index prompt = filled_offsets_.back();
  const Index first = prompt + (row - prompt % rows + rows) % rows;  // the row's first turn
  return first + (n - filled) * rows;
}

void Cache::insert(Index layer, const Blocks& QKV) {
  const mesh::Tile& tile = fabric_->tile();
  const Index row = (tokens_ - 1) % fabric_->mesh().height;
  if (!tile.rows.contains(row)) return;
  const Index place = offsets_[at(row) + 1] - 1 - offsets_[at(tile.rows.begin)];
  for (Index x = tile.columns.begin; x < tile.columns.end; ++x) {
    Entries& column = entries(layer, x);
    const Index n = width(x);
    const auto fresh = QKV.vector(x).last(2 * at(n));
    const auto insert_at = [&](std::vector<float>& to, std::span<const float> entry) {
      to.insert(to.begin() + place * n, entry.begin(), entry.end());
    };
    insert_at(column.keys, fresh.first(at(n)));
    insert_at(column.values, fresh.last(at(n)));
  }
}

void Cache::append(Index layer, const Blocks& QKV) {
  charge();
  hold_token(layer);
  const mesh::Tile& tile = fabric_->tile();
  if (tile.cores() == 0) return;
  if (policy_ == Policy::round_robin) return insert(layer, QKV);
  const std::size_t top = at(tile.rows.begin);
  const std::size_t bottom = at(tile.rows.end);
  const bool hands_up = offsets_[top] > before_[top];
  // The entry behind the last one, unless it went straight to a row above (the first tokens fill the rows
  // from the top).
  const bool gains = offsets_[bottom] > before_[bottom] && before_[bottom] >= offsets_[top];
  const bool gains_new = gains && before_[bottom] == tokens_ - 1;
  std::vector<float> up, from_below;
  fabric::Exchange exchange(fabric_->communicator());
  if (gains && !gains_new) {
    std::size_t floats = 0;
    for (Index x = tile.columns.begin; x < tile.columns.end; ++x) floats += 2 * at(width(x));
    from_below.resize(floats);
    exchange.receive(fabric_->tiling().rank_of({tile.rows.end, tile.columns.begin}),
                     std::as_writable_bytes(std::span(from_below)));
  }
  if (hands_up && before_[top] < before_[bottom]) {  // the oldest entry of this rank's top row
    for (Index x = tile.columns.begin; x < tile.columns.end; ++x) {
      Entries& column = entries(layer, x);
      push_back(up, std::span(column.keys).first(at(width(x))));
      push_back(up, std::span(column.values).first(at(width(x))));
      pop_front(column.keys, width(x));
      pop_front(column.values, width(x));
    }
    exchange.send(fabric_->tiling().rank_of({tile.rows.begin - 1, tile.columns.begin}),
                  std::as_bytes(std::span(up)));
  }
  exchange.wait();
  std::size_t taken = 0;
  for (Index x = tile.columns.begin; x < tile.columns.end && gains; ++x) {
    Entries& column = entries(layer, x);
    const std::size_t n = at(width(x));
    const auto fresh =
        gains_new ? QKV.vector(x).last(2 * n) : std::span<const float>(from_below).subspan(taken, 2 * n);
    push_back(column.keys, fresh.first(n));
    push_back(column.values, fresh.last(n));
    taken += 2 * n;
  }
}

ops::CacheView Cache::view(Index layer) const {
  const auto core_view = [this, layer](CoreCoord core, std::vector<float> Entries::*what) {
    const Entries& column = entries_[at(layer)][at(column_number(core.x))];
    const Index skipped = offsets_[at(core.y)] - offsets_[at(fabric_->tile().rows.begin)];
    return MatrixView<const float>((column.*what).data() + skipped * width(core.x),
                                   {counts_[at(core.y)], width(core.x)});
  };
  return {[core_view](CoreCoord core) { return core_view(core, &Entries::keys); },
          [core_view](CoreCoord core) { return core_view(core, &Entries::values); },
          [this](Index row) { return counts_[at(row)]; },
          [this](Index row, Index n) { return position(row, n); }};
}

void Cache::clear() {
  for (fabric::Lease& lease : leases_) lease = {};
  held_.assign(held_.size(), 0);
  grown_ = 0;
  tokens_ = 0;
  filled_.assign(filled_.size(), 0);
  counts_ = filled_;
  offsets_ = before_ = filled_offsets_ = offsets_of(counts_);
  for (auto& layer : entries_)
    for (Entries& column : layer) column = {};
}

}  // namespace wafer::kv

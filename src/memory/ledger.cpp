#include <plimsoll/memory/ledger.h>

#include <algorithm>
#include <array>

#include "memory/memory_tree.h"

namespace plimsoll {

std::string_view event_name(LedgerEvent::Kind kind) {
  constexpr std::array<std::string_view, 5> names = {"map", "unmap", "move", "limit", "mark"};
  return names[static_cast<std::size_t>(kind)];
}

Ledger::Ledger(std::shared_ptr<MemoryTree> tree) : tree_(std::move(tree)) {}

Bytes Ledger::live() const {
  MemoryTree::Lock lock(tree_->mutex);
  return tree_->live();
}

Bytes Ledger::peak() const {
  MemoryTree::Lock lock(tree_->mutex);
  return tree_->peak();
}

std::vector<Holder> Ledger::holders(std::string_view under) const {
  MemoryTree::Lock lock(tree_->mutex);
  return tree_->holders(under, false);
}

std::vector<Holder> Ledger::peak_holders(std::string_view under) const {
  MemoryTree::Lock lock(tree_->mutex);
  return tree_->holders(under, true);
}

void Ledger::reset_peak() {
  MemoryTree::Lock lock(tree_->mutex);
  tree_->reset_peak();
}

void Ledger::mark(std::string_view name, std::int64_t index) {
  MemoryTree::Lock lock(tree_->mutex);
  tree_->add_mark(name, index);
}

std::vector<Mark> Ledger::marks() const {
  MemoryTree::Lock lock(tree_->mutex);
  return tree_->marks();
}

std::vector<LedgerEvent> Ledger::history() const {
  MemoryTree::Lock lock(tree_->mutex);
  return tree_->history();
}

std::vector<Holder> by_tag(const std::vector<Holder>& holders) {
  std::array<Holder, kTagCount> sums;
  for (const Holder& h : holders) {
    Holder& sum = sums[static_cast<std::size_t>(h.tag)];
    sum.tag = h.tag;
    sum.bytes += h.bytes;
    sum.blocks += h.blocks;
  }
  std::vector<Holder> result;
  std::copy_if(sums.begin(), sums.end(), std::back_inserter(result),
               [](const Holder& h) { return h.bytes != 0; });
  std::stable_sort(result.begin(), result.end(),
                   [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
  return result;
}

}  // namespace plimsoll

// Every invariant of an arena, for tests.

#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "memory/arena_state.h"

namespace plimsoll {

void ArenaState::check() const {
  MemoryTree::Lock lock(tree_->mutex);
  auto fail = [&](const std::string& what) {
    throw InternalError(fmt::format("[check] arena of '{}': {}", node_->path, what));
  };
  tree_->check();
  if (closing_) return;

  std::unordered_set<const Segment*> pending;
  for (const Pending& p : pending_) pending.insert(p.segment);
  std::unordered_map<const LedgerEntry*, Bytes> by_entry;
  Bytes live = 0;
  Bytes mapped = 0;
  std::uint64_t blocks = 0;
  std::uintptr_t expected = range_.begin;
  const Segment* previous = nullptr;
  for (const Segment* s = segments_.first(); s != nullptr; previous = s, s = s->next) {
    if (s->begin != expected || s->prev != previous || s->size == 0) {
      fail(fmt::format("segments do not tile the range at {:#x}", s->begin));
    }
    expected = s->end();
    if (s->state != Segment::State::gap) mapped += s->size;
    const bool joins = previous != nullptr && previous->state == s->state &&
                       previous->zone == s->zone && previous->stream == s->stream;
    switch (s->state) {
      case Segment::State::live:
        live += s->size;
        ++blocks;
        by_entry[s->entry] += s->size;
        if (s->begin % options_.alignment != 0) fail("a block is not aligned");
        break;
      case Segment::State::pending:
        if (!pending.contains(s)) fail("a pending segment waits for nothing");
        break;
      case Segment::State::free:
        if (joins) fail("two free neighbours are not merged");
        break;
      case Segment::State::gap:
        if (s->begin % page_ != 0 || s->size % page_ != 0) fail("a gap is not whole pages");
        if (joins) fail("two gaps are not merged");
        break;
    }
  }
  if (expected != range_.end()) fail("segments do not cover the range");
  if (live != node_->pages.live) fail("live bytes are not the sum of the blocks");
  if (mapped != node_->pages.mapped) fail("mapped bytes are not the sum of the segments");
  if (blocks != stats_.allocations - stats_.releases) fail("blocks are not counted right");
  for (const auto& [entry, bytes] : by_entry) {
    if (entry->bytes - entry->direct < bytes) fail("the ledger misses bytes of " + entry->label);
  }
}

}  // namespace plimsoll

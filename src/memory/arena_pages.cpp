// Where an arena gets its pages: growing, moving free pages together, returning them.

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/trace.h>

#include "memory/arena_state.h"

namespace plimsoll {

namespace {

/// Share of the live peak, and number of pages, that may be mapped beyond it before free pages are
/// moved rather than new ones mapped.
constexpr Bytes kSlackShare = 22;
constexpr Bytes kSlackPages = 6;

class Stopwatch {
 public:
  explicit Stopwatch(std::int64_t& total) : total_(total) {}
  ~Stopwatch() {
    total_ += std::chrono::duration_cast<std::chrono::nanoseconds>(
                  std::chrono::steady_clock::now() - start_)
                  .count();
  }

 private:
  std::int64_t& total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Runs a call of the page source; false, with the reason, if it has no pages to give.
template <typename Call>
bool succeeds(std::int64_t& time, std::string& why, Call call) {
  Stopwatch watch(time);
  try {
    call();
    return true;
  } catch (const OutOfPages& e) {
    why = e.what();
    return false;
  }
}

AddressRange intersection(AddressRange a, AddressRange b) {
  const std::uintptr_t begin = std::max(a.begin, b.begin);
  const std::uintptr_t end = std::min(a.end(), b.end());
  return begin < end ? AddressRange{begin, end - begin} : AddressRange{};
}

}  // namespace

Segment* ArenaState::cut_free(Segment* s, AddressRange range) {
  bins_[s->zone].remove(s);
  if (s->begin < range.begin) {
    Segment* rest = segments_.split(s, range.begin - s->begin);
    bins_[s->zone].insert(s);
    s = rest;
  }
  if (s->size > range.size) bins_[s->zone].insert(segments_.split(s, range.size));
  return s;
}

Segment* ArenaState::cut_gap(Segment* s, AddressRange range) {
  gaps_[s->zone].remove(s);
  if (s->begin < range.begin) {
    Segment* rest = segments_.split(s, range.begin - s->begin);
    gaps_[s->zone].insert(s);
    s = rest;
  }
  if (s->size > range.size) gaps_[s->zone].insert(segments_.split(s, range.size));
  return s;
}

Segment* ArenaState::map_gap(Segment* gap, AddressRange range, Refusal& why) {
  const PageAccount p = node_->pages;
  why.node = tree_->set_pages(node_, p.mapped + range.size, p.live, p.reserved);
  if (why.node != nullptr) return nullptr;
  bool done = false;
  try {
    done = succeeds(stats_.page_ns, why.system, [&] { source->map(range, chunk_); });
  } catch (...) {
    tree_->set_pages(node_, p.mapped, p.live, p.reserved);
    throw;
  }
  if (!done) {
    tree_->set_pages(node_, p.mapped, p.live, p.reserved);
    return nullptr;
  }
  ++stats_.maps;
  stats_.bytes_mapped += range.size;
  stats_.mapped_peak = std::max(stats_.mapped_peak, node_->pages.mapped);
  tree_->change_mapped(range.size, 0);
  tree_->add_event(LedgerEvent::Kind::map, range.size);
  return settle_free(cut_gap(gap, range), Join::same);
}

bool ArenaState::unmap_free(const Donor& donor, AddressRange range, Refusal& why) {
  if (!succeeds(stats_.page_ns, why.system, [&] { source->unmap(range); })) return false;
  ++stats_.unmaps;
  const PageAccount p = node_->pages;
  tree_->set_pages(node_, p.mapped - range.size, p.live, p.reserved);
  tree_->change_mapped(0, range.size);
  tree_->add_event(LedgerEvent::Kind::unmap, range.size);
  settle_gap(cut_free(donor.segment, range));
  return true;
}

Segment* ArenaState::move_pages(const Donor& donor, AddressRange from, Segment* gap,
                                std::uintptr_t to, Refusal& why) {
  const AddressRange target{to, from.size};
  if (!succeeds(stats_.page_ns, why.system, [&] { source->move(from, target); })) return nullptr;
  ++stats_.moves;
  stats_.bytes_remapped += from.size;
  tree_->add_event(LedgerEvent::Kind::move, from.size);
  Segment* emptied = cut_free(donor.segment, from);
  Segment* filled = cut_gap(gap, target);
  // The two may be neighbours: each is what it is now before either merges.
  emptied->state = Segment::State::gap;
  filled = settle_free(filled, Join::same);
  settle_gap(emptied);
  return filled;
}

ArenaState::Window ArenaState::find_window(Bytes size, std::uint8_t zone, StreamId stream) const {
  auto usable = [&](const Segment* s) {
    return s != nullptr && s->zone == zone &&
           (s->state == Segment::State::gap || (s->state == Segment::State::free &&
                                                (s->stream == kHostStream || s->stream == stream)));
  };
  // Pages missing under [begin, begin + size), which lies in usable segments from `s` on.
  auto missing = [&](const Segment* s, std::uintptr_t begin) {
    Bytes sum = 0;
    for (; s != nullptr && s->begin < begin + size; s = s->next) {
      if (s->state != Segment::State::gap) continue;
      const std::uintptr_t from = std::max<std::uintptr_t>(s->begin, align_down(begin, page_));
      const std::uintptr_t to = std::min<std::uintptr_t>(s->end(), align_up(begin + size, page_));
      if (from < to) sum += to - from;
    }
    return sum;
  };
  Window best;
  auto consider = [&](Segment* s, std::uintptr_t begin) {
    const Bytes sum = missing(s, begin);
    if (sum < best.missing || (sum == best.missing && begin < best.begin)) best = {s, begin, sum};
  };
  // A window with the fewest pages missing starts or ends with a mapped stretch, or the span.
  auto search_span = [&](Segment* within) {
    Segment* first = within;
    Segment* last = within;
    while (usable(first->prev)) first = first->prev;
    while (usable(last->next)) last = last->next;
    if (last->end() - first->begin < size) return;
    for (Segment* w = first; w != last->next; w = w->next) {
      if (w != first && w->state == Segment::State::gap) continue;
      if (w->begin + size <= last->end()) consider(w, w->begin);
      if (w->state != Segment::State::gap && w->end() >= first->begin + size) {
        Segment* from = w;
        while (from->begin > w->end() - size) from = from->prev;
        consider(from, w->end() - size);
      }
    }
  };
  for (Segment* gap = gaps_[zone].first(); gap != nullptr; gap = gap->bin_next) search_span(gap);
  if (!streams_.empty()) {
    // Free neighbours that belong to different streams are not merged: together they may do.
    for (Segment* s : bins_[zone].at_least(1)) {
      if (usable(s)) search_span(s);
    }
  }
  return best;
}

Bytes ArenaState::growth_allowance(Bytes size) const {
  const Bytes live = std::max(stats_.live_peak, node_->pages.live + size);
  const Bytes allowed = live + live / kSlackShare + kSlackPages * page_;
  return allowed > node_->pages.mapped ? align_down(allowed - node_->pages.mapped, page_) : 0;
}

Bytes ArenaState::headroom() const {
  // Pages that reservations have paid for already can be mapped without asking.
  const Bytes room = MemoryTree::available(node_);
  const Bytes paid = node_->pages.charged - node_->pages.mapped;
  return align_down(room > kUnlimited - paid ? kUnlimited : room + paid, page_);
}

std::vector<ArenaState::Donor> ArenaState::find_donors(AddressRange except) const {
  const std::uintptr_t cut_begin = align_down(except.begin, page_);
  const std::uintptr_t cut_end = align_up(except.end(), page_);
  std::vector<Donor> donors;
  for (const FreeBins& bins : bins_) {
    for (Segment* s : bins.at_least(page_)) {
      if (s->stream != kHostStream) continue;
      // The window may cut a segment: what lies before and after it can still give.
      const AddressRange parts[] = {
          intersection(s->range(), {0, cut_begin}),
          intersection(s->range(), {cut_end, ~std::uintptr_t{0} - cut_end})};
      for (const AddressRange& part : parts) {
        const std::uintptr_t begin = align_up(part.begin, page_);
        const std::uintptr_t end = align_down(part.end(), page_);
        if (begin >= end) continue;
        const AddressRange whole = source->whole_chunks({begin, end - begin});
        if (!whole.empty()) donors.push_back({s, whole});
      }
    }
  }
  std::sort(donors.begin(), donors.end(),
            [](const Donor& a, const Donor& b) { return a.range.begin < b.range.begin; });
  return donors;
}

AddressRange ArenaState::last_chunks(AddressRange range, Bytes wanted) const {
  if (wanted >= range.size) return range;
  const AddressRange whole = source->whole_chunks({range.end() - wanted, wanted});
  if (!whole.empty()) return whole;
  const Bytes chunk = source->chunk_size(range.end() - page_);
  return {range.end() - chunk, chunk};
}

Segment* ArenaState::fill(Window window, Bytes size, std::uint8_t zone, Bytes growth,
                          Refusal& why) {
  const AddressRange target{window.begin, size};
  const AddressRange pages{align_down(target.begin, page_),
                           align_up(target.end(), page_) - align_down(target.begin, page_)};
  growth = std::min(growth, window.missing);
  Bytes moving = window.missing - growth;
  std::vector<Donor> donors;
  if (moving > 0) {
    donors = find_donors(target);
    Bytes have = 0;
    for (const Donor& d : donors) have += d.range.size;
    if (have < moving) {
      growth += moving - have;
      moving = have;
      if (growth > headroom()) {
        const PageAccount& p = node_->pages;
        why.node = tree_->try_charge(node_, nullptr, growth - (p.charged - p.mapped));
        if (why.node == nullptr) throw InternalError("[Arena] a limit refused what fits it");
        return nullptr;
      }
    }
  }

  Segment* filled = window.first;
  for (;;) {
    // The next part of the window without pages. Segments merge as it fills: look anew.
    Segment* gap = nullptr;
    for (Segment* g = gaps_[zone].first(); g != nullptr; g = g->bin_next) {
      if (intersection(g->range(), pages).empty()) continue;
      if (gap == nullptr || g->begin < gap->begin) gap = g;
    }
    if (gap == nullptr) return filled;
    const AddressRange hole = intersection(gap->range(), pages);
    if (moving == 0) {
      filled = map_gap(gap, hole, why);
      if (filled == nullptr) return nullptr;
      continue;
    }
    if (donors.empty()) {
      moving = 0;  // chunks did not match; what was unmapped for it leaves room to map
      continue;
    }
    const Donor donor = donors.back();  // the highest: low addresses are reused first
    const AddressRange from = last_chunks(donor.range, std::min(hole.size, moving));
    if (from.size > hole.size) {
      // The chunk is too large for the hole: let it go and map pages that fit.
      if (!unmap_free(donor, from, why)) return nullptr;
      stats_.bytes_remapped += std::min(from.size, moving);
    } else {
      filled = move_pages(donor, from, gap, hole.begin, why);
      if (filled == nullptr) return nullptr;
    }
    moving -= std::min(from.size, moving);
    // Segments have been cut and merged: the remaining donors are found anew.
    if (moving > 0) donors = find_donors(target);
  }
}

Segment* ArenaState::unify(Segment* s, Window window, Bytes size) {
  while (s->begin > window.begin) s = s->prev;
  while (s->end() <= window.begin) s = s->next;
  bins_[s->zone].remove(s);
  while (s->end() < window.begin + size) {
    bins_[s->zone].remove(s->next);
    absorb_next_free(s);
  }
  return settle_free(s, Join::same);
}

Segment* ArenaState::make_room(Bytes size, std::uint8_t zone, StreamId stream, Refusal& why) {
  poll_streams();
  constexpr int kAll = 1 << 30;
  if (Segment* s = find_free(size, zone, stream, kAll)) return s;
  // As the slack allows; if the system fails one way, all by growing, then all by moving.
  for (const Bytes wanted : {growth_allowance(size), kUnlimited, Bytes{0}}) {
    const Window window = find_window(size, zone, stream);
    if (window.first == nullptr) {
      // Where a limit forbids it, too, that is the reason that helps.
      why.node = tree_->try_charge(node_, nullptr, size);
      if (why.node != nullptr) return nullptr;
      tree_->uncharge(node_, nullptr, size);
      why.system = "no free range of addresses is long enough";
      return nullptr;
    }
    const Bytes growth = std::min(wanted, headroom());
    if (growth < window.missing) {
      // Rather than move pages, go where they are.
      const std::uint8_t other = zone == kSmallZone ? kLargeZone : kSmallZone;
      if (Segment* s = find_free(size, other, stream, kAll)) return s;
    }
    why = {};
    if (Segment* s = fill(window, size, zone, growth, why)) return unify(s, window, size);
    if (why.node != nullptr) return nullptr;  // a limit: not the system's failure
  }
  return nullptr;
}

void ArenaState::prepare(Bytes bytes) {
  if (bytes == 0) return;
  const Account account = budget.account(Tag::user, "prepared pages");
  MemoryTree::Lock lock(tree_->mutex);
  Refusal why;
  if (bytes > range_.size) {
    throw_out_of_memory(*tree_, lock, bytes, account.entry_, nullptr,
                        "no free range of addresses is long enough", this);
  }
  const Bytes size = align_up(bytes, page_);
  BudgetNode* refuser = tree_->with_relief(lock, size, [&]() -> BudgetNode* {
    require_open("prepare");
    why = {};
    // Large chunks are cheap to make but go back only whole: they are for ranges like this one.
    struct Chunk {
      explicit Chunk(Bytes& c, Bytes value) : chunk(c) { chunk = value; }
      ~Chunk() { chunk = 0; }
      Bytes& chunk;
    } const large(chunk_, size / 4);
    return make_room(size, kLargeZone, kHostStream, why) != nullptr ? nullptr : why.node;
  });
  if (refuser != nullptr || !why.system.empty()) {
    throw_out_of_memory(*tree_, lock, size, account.entry_, refuser, why.system, this);
  }
}

Bytes ArenaState::reclaim(Bytes wanted) {
  if (closing_) return 0;
  poll_streams();
  Bytes got = 0;
  while (got < wanted) {
    const std::vector<Donor> donors = find_donors({});
    if (donors.empty()) break;
    // The highest addresses first, so that what stays mapped is dense.
    const Donor& donor = donors.back();
    const AddressRange range = last_chunks(donor.range, align_up(wanted - got, page_));
    Refusal why;
    if (!unmap_free(donor, range, why)) break;
    got += range.size;
  }
  return got;
}

Bytes ArenaState::trim(Bytes keep) {
  constexpr Bytes kSlice = MiB(256);  // others get a turn in between
  if (options_.preallocate) return 0;
  Bytes total = 0;
  MemoryTree::Lock lock(tree_->mutex);
  tree_->wait_for_fences(lock, node_);
  while (node_->pages.mapped > keep) {
    const Bytes got = reclaim(std::min(node_->pages.mapped - keep, kSlice));
    if (got == 0) break;
    total += got;
    lock.unlock();
    lock.lock();
  }
  return total;
}

void ArenaState::close(bool even_if_broken) {
  const std::lock_guard one_at_a_time(close_mutex_);
  MemoryTree::Lock lock(tree_->mutex);
  if (gone_) return;
  if (!closed_) {
    closing_ = true;
    // Live blocks may be in use on their streams, too.
    for (const Segment* s = segments_.first(); s != nullptr; s = s->next) {
      if (s->state != Segment::State::live || s->stream == kHostStream) continue;
      stream_of(s->stream).last_release = ++release_count_;
    }
    for (const auto& [segment, extra] : extra_uses_) {
      for (const StreamId id : extra) stream_of(id).last_release = ++release_count_;
    }
    try {
      while (in_use()) {
        const auto waiting = fences(true);
        lock.unlock();
        for (const auto& fence : waiting) fence->wait();
        // A stream that is being recorded has a fence when that is over.
        if (waiting.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        lock.lock();
        poll_streams();
      }
    } catch (const std::exception&) {
      if (!even_if_broken) throw;
      if (!lock.owns_lock()) lock.lock();  // a device without fences runs nothing any more
    }
    for (Segment* s = segments_.first(); s != nullptr; s = s->next) {
      if (s->state != Segment::State::live) continue;
      BudgetNode* account_node = s->entry->node;
      if (options_.trace) options_.trace->release(s->begin, s->size, s->stream);
      tree_->debit(s->entry, s->size);
      uncharge_block(s->size, account_node);
      s->state = Segment::State::pending;  // its handle is still around, its memory is going
      if (!account_node->open) tree_->drop_if_unused(account_node);
    }
    closed_.store(true, std::memory_order_release);
  }

  // Unmapping takes a while: others go on meanwhile. What is still to be unmapped stays charged.
  std::string why;
  for (Segment* s = segments_.first(); s != nullptr;) {
    if (s->state == Segment::State::gap) {
      s = s->next;
      continue;
    }
    Segment* last = s;
    while (last->next != nullptr && last->next->state != Segment::State::gap &&
           last->next->zone == s->zone) {
      last = last->next;
    }
    const AddressRange range{s->begin, last->end() - s->begin};
    std::int64_t page_ns = 0;
    lock.unlock();
    const bool done = succeeds(page_ns, why, [&] { source->unmap(range); });
    lock.lock();
    stats_.page_ns += page_ns;
    Segment* after = last->next;
    if (done) {
      ++stats_.unmaps;
      const PageAccount p = node_->pages;
      tree_->set_pages(node_, p.mapped - range.size, p.live, p.reserved);
      tree_->change_mapped(0, range.size);
      tree_->add_event(LedgerEvent::Kind::unmap, range.size);
      for (Segment* g = s; g != after; g = g->next) g->state = Segment::State::gap;
    }
    s = after;
  }
  if (!why.empty() || !succeeds(stats_.page_ns, why, [&] { source->release(range_); })) {
    throw OutOfPages("[close] '" + node_->path + "' could not return all of its pages: " + why);
  }
  for (const auto& [key, entry] : tree_->entries()) {
    if (entry->arena == this) entry->arena = nullptr;
  }
  node_->arena = nullptr;
  gone_ = true;
}

}  // namespace plimsoll

#include <plimsoll/memory/arena.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/system.h>
#include <plimsoll/memory/trace.h>

#include "memory/arena_state.h"

namespace plimsoll {

namespace {

/// Requests beyond this cannot be meant.
constexpr Bytes kMaxRequest = Bytes{1} << 62;
constexpr Bytes kDefaultAddresses = GiB(1024);
/// With less there is no point in an arena.
constexpr Bytes kLeastZone = MiB(16);
/// On a GPU, where addresses abound: a small limit may be raised to all of it, and they cannot be
/// added to later.
constexpr Bytes kLeastDeviceAddresses = GiB(512);

}  // namespace

ArenaState::ArenaState(std::shared_ptr<PageSource> src, Budget b, ArenaOptions options)
    : source(std::move(src)),
      budget(std::move(b)),
      tree_(budget.handle_->tree),
      node_(budget.handle_->node),
      options_(std::move(options)),
      page_(source->page_size()),
      small_limit_(page_ / 2) {
  if (!std::has_single_bit(options_.alignment) || options_.alignment > page_) {
    throw InvalidArgument(
        fmt::format("[Arena] an alignment of {} is not a power of two up to the page size {}",
                    options_.alignment, format_bytes(page_)));
  }
  Bytes addresses = options_.address_space;
  {
    MemoryTree::Lock lock(tree_->mutex);
    if (node_->arena != nullptr || node_->pages.mapped != 0) {
      throw InvalidArgument(
          fmt::format("[Arena] budget '{}' carries an arena already; give this "
                      "one a child of it",
                      node_->path));
    }
    if (addresses == 0) {
      const Bytes room = MemoryTree::available(node_);
      addresses = room >= kDefaultAddresses / 4 ? kDefaultAddresses : 4 * room + GiB(16);
      if (!source->host_accessible()) addresses = std::max(addresses, kLeastDeviceAddresses);
    }
    node_->arena = this;
    node_->has_pages = true;
    forget_entries(nullptr);  // lines below may have been another arena's
  }
  try {
    const Bytes zone = reserve_addresses(addresses) / kZones;
    for (std::uint8_t z = 0; z < kZones; ++z) {
      gaps_[z].insert(segments_.append({range_.begin + z * zone, zone}, Segment::State::gap, z));
    }
    if (options_.preallocate) {
      const Bytes room = this->budget.available();
      if (room == kUnlimited) {
        throw InvalidArgument("[Arena] preallocation needs a limit on '" + budget.path() + "'");
      }
      if (room >= page_) prepare(align_down(room, page_));
    }
  } catch (...) {
    try {
      if (!range_.empty()) close();
    } catch (const std::exception&) {
      // What made the arena fail is what is reported; pages that stay, stay charged.
    }
    MemoryTree::Lock lock(tree_->mutex);
    node_->arena = nullptr;
    throw;
  }
}

ArenaState::~ArenaState() = default;

Bytes ArenaState::reserve_addresses(Bytes wanted) {
  Bytes zone = align_up(std::max(wanted / kZones, page_), page_);
  // Either zone should have room for all that the limits allow now; with less, large blocks may be
  // refused for want of addresses.
  Bytes least = zone;
  if (options_.address_space == 0) {
    const Bytes enough = align_up(std::clamp(budget.available(), page_, GiB(1)), page_);
    // Where addresses are limited (ulimit -v), a program's other arenas also need some.
    if (const Bytes left = source->host_accessible() ? address_space_left() : kUnlimited;
        left != kUnlimited) {
      zone = std::min(zone, std::max(enough, align_up(left / 8 / kZones, page_)));
    }
    least = std::min(zone, align_up(std::max(kLeastZone, page_), page_));
  }
  // Where the first attempts fail, half of what there is goes to others.
  for (bool short_of = false;;) {
    try {
      range_ = source->reserve(zone * kZones);
      if (!short_of || zone <= least) return range_.size;
      source->release(std::exchange(range_, {}));
      short_of = false;
    } catch (const OutOfPages&) {
      if (zone <= least) throw;
      short_of = true;
    }
    zone = std::max(least, align_up(zone / 2, page_));
  }
}

void ArenaState::forget_entries(const ArenaState* arena) noexcept {
  for (const auto& [key, e] : tree_->entries()) {
    if (arena == nullptr || e->arena == arena) e->arena = nullptr;
  }
}

void ArenaState::require_open(const char* who) const {
  if (closing_) throw Error(fmt::format("[{}] the arena of '{}' is closed", who, node_->path));
}

BudgetNode* ArenaState::charge_block(Bytes size, LedgerEntry* entry, Reservation* reservation) {
  // What a reservation covers has been charged with it; only the rest is new.
  const Bytes covered = reservation != nullptr ? std::min(size, reservation->bytes_) : 0;
  if (BudgetNode* refuser = tree_->try_charge(entry->node, node_, size - covered)) return refuser;
  PageAccount& p = node_->pages;
  if (p.reserved == 0) {
    p.live += size;  // live blocks lie in mapped pages: nothing more to charge
    return nullptr;
  }
  if (BudgetNode* refuser =
          tree_->set_pages(node_, p.mapped, p.live + size, p.reserved - covered)) {
    tree_->uncharge(entry->node, node_, size - covered);
    return refuser;
  }
  if (covered != 0) {
    reservation->bytes_ -= covered;
    entry->node->reserved_here -= covered;
  }
  return nullptr;
}

void ArenaState::uncharge_block(Bytes size, BudgetNode* account_node) {
  tree_->uncharge(account_node, node_, size);
  PageAccount& p = node_->pages;
  if (p.reserved == 0) {
    p.live -= size;
  } else {
    tree_->set_pages(node_, p.mapped, p.live - size, p.reserved);
  }
}

Segment* ArenaState::try_allocate(Bytes size, LedgerEntry* entry, Reservation* reservation,
                                  StreamId stream, Refusal& why) {
  const std::uint8_t zone = zone_of(size);
  Segment* s = find_free(size, zone, stream);
  if (s == nullptr) {
    // Ask the budgets below first: no use in mapping pages for what they will refuse.
    const Bytes covered = reservation != nullptr ? std::min(size, reservation->bytes()) : 0;
    why.node = tree_->try_charge(entry->node, node_, size - covered);
    if (why.node != nullptr) return nullptr;
    tree_->uncharge(entry->node, node_, size - covered);
    s = make_room(size, zone, stream, why);
    if (s == nullptr) return nullptr;
  }
  why.node = charge_block(size, entry, reservation);
  if (why.node != nullptr) return nullptr;
  return give(s, size, entry, stream);
}

Segment* ArenaState::give(Segment* s, Bytes size, LedgerEntry* entry, StreamId stream) {
  bins_[s->zone].remove(s);
  if (s->size > size) bins_[s->zone].insert(segments_.split(s, size));
  s->state = Segment::State::live;
  s->stream = stream;
  s->entry = entry;
  tree_->credit(entry, size);
  ++stats_.allocations;
  stats_.bytes_allocated += size;
  if (node_->pages.live > stats_.live_peak) stats_.live_peak = node_->pages.live;
  if (options_.trace) options_.trace->allocate(s->begin, size, stream);
  return s;
}

Block ArenaState::allocate(Bytes bytes, const Account& account, Reservation* reservation,
                           StreamId stream) {
  if (bytes == 0) return {};
  if (!account.valid()) throw InvalidArgument("[allocate] the account is empty");
  if (options_.fences == nullptr) stream = kHostStream;
  MemoryTree::Lock lock(tree_->mutex);
  LedgerEntry* entry = account.entry_;
  // Most times there is a free segment, and the budgets allow it.
  if (entry->arena == this && !closing_ && bytes <= kMaxRequest && reservation == nullptr &&
      node_->pages.reserved == 0) [[likely]] {
    const Bytes size = align_up(bytes, options_.alignment);
    Segment* s = find_free(size, zone_of(size), stream);
    if (s != nullptr && tree_->try_charge(entry->node, node_, size) == nullptr) [[likely]] {
      node_->pages.live += size;
      return Block(this, give(s, size, entry, stream));
    }
  }
  return allocate_slowly(lock, bytes, account, reservation, stream);
}

Block ArenaState::allocate_slowly(MemoryTree::Lock& lock, Bytes bytes, const Account& account,
                                  Reservation* reservation, StreamId stream) {
  LedgerEntry* entry = account.entry_;
  require_open("allocate");
  if (entry->arena != this) {
    if (account.budget_->tree != tree_ || MemoryTree::arena_node(entry->node) != node_) {
      throw InvalidArgument(
          fmt::format("[allocate] account '{}' is not of the arena on budget '{}'", entry->budget,
                      node_->path));
    }
    entry->arena = this;
  }
  if (reservation != nullptr && reservation->budget_ &&
      (reservation->budget_->node != entry->node || reservation->pages_ != node_)) {
    throw InvalidArgument(
        fmt::format("[allocate] the reservation is not of budget '{}'", entry->budget));
  }
  Refusal why;
  if (bytes > kMaxRequest) {
    why.system = "no machine has that much memory";
    throw_out_of_memory(*tree_, lock, bytes, entry, nullptr, why.system, this);
  }
  const Bytes size = align_up(bytes, options_.alignment);

  Segment* s = nullptr;
  auto attempt = [&]() -> bool {
    require_open("allocate");  // it may have been closed while the lock was released
    for (;;) {
      why = {};
      s = try_allocate(size, entry, reservation, stream, why);
      if (s != nullptr) return true;
      // Neighbours under the budget that refused may have free pages.
      if (why.node == nullptr || tree_->reclaim(why.node, size, this) == 0) return false;
    }
  };
  if (attempt()) return Block(this, s);
  BudgetNode* scope = why.node != nullptr ? why.node : node_;
  if (tree_->wait_for_fences(lock, scope) && attempt()) return Block(this, s);
  scope = why.node != nullptr ? why.node : tree_->root();
  for (const auto& relief : tree_->reliefs(scope)) {
    lock.unlock();
    relief->call(size);
    lock.lock();
    if (attempt()) return Block(this, s);
  }
  throw_out_of_memory(*tree_, lock, bytes, entry, why.node, why.system, this);
}

void ArenaState::absorb_next_free(Segment* s) {
  // Joined with memory that a stream may still use, a free segment is that stream's, too.
  if (const Segment* n = s->next; n->stream != kHostStream) {
    s->stream = n->stream;
    s->released = std::max(s->released, n->released);
  }
  segments_.absorb_next(s);
}

Segment* ArenaState::settle_free(Segment* s, Join join) {
  auto joins = [&](const Segment* other) {
    return other != nullptr && other->state == Segment::State::free && other->zone == s->zone &&
           (other->stream == s->stream ||
            (join == Join::any && (s->stream == kHostStream || other->stream == kHostStream)));
  };
  s->state = Segment::State::free;
  s->entry = nullptr;
  // Each merge may give the segment a stream, and with it further neighbours to merge with.
  for (;;) {
    if (joins(s->next)) {
      bins_[s->zone].remove(s->next);
      absorb_next_free(s);
    } else if (Segment* p = s->prev; joins(p)) {
      bins_[p->zone].remove(p);
      absorb_next_free(p);
      s = p;
    } else {
      break;
    }
  }
  bins_[s->zone].insert(s);
  return s;
}

void ArenaState::settle_gap(Segment* s) {
  s->state = Segment::State::gap;
  s->stream = kHostStream;
  auto joins = [&](const Segment* other) {
    return other != nullptr && other->state == Segment::State::gap && other->zone == s->zone;
  };
  if (joins(s->next)) {
    gaps_[s->zone].remove(s->next);
    segments_.absorb_next(s);
  }
  if (joins(s->prev)) {
    segments_.absorb_next(s->prev);  // which is in the list already
  } else {
    gaps_[s->zone].insert(s);
  }
}

void ArenaState::finish_release(Segment* s) {
  if (s->stream != kHostStream) {
    s->released = ++release_count_;
    stream_of(s->stream).last_release = s->released;
  }
  settle_free(s, Join::any);
}

void ArenaState::release(Segment* s) noexcept {
  std::shared_ptr<ArenaState> last;  // destroyed after the lock is released
  MemoryTree::Lock lock(tree_->mutex);
  ++stats_.releases;
  if (!closing_) {
    const Bytes size = s->size;
    LedgerEntry* entry = s->entry;
    BudgetNode* account_node = entry->node;
    if (options_.trace) options_.trace->release(s->begin, size, s->stream);
    tree_->debit(entry, size);
    uncharge_block(size, account_node);
    if (!extra_uses_.empty() && extra_uses_.contains(s)) {
      Pending pending;
      pending.segment = s;
      pending.unrecorded = std::move(extra_uses_[s]);
      extra_uses_.erase(s);
      s->state = Segment::State::pending;
      record_pending(pending);
      pending_.push_back(std::move(pending));
    } else {
      finish_release(s);
    }
    if (!account_node->open) tree_->drop_if_unused(account_node);
  }
  if (self_ && stats_.allocations == stats_.releases) last = std::move(self_);
}

void ArenaState::recharge(Segment* s, const Account& account) {
  if (!account.valid()) throw InvalidArgument("[recharge] the account is empty");
  MemoryTree::Lock lock(tree_->mutex);
  if (closing_) return;
  LedgerEntry* to = account.entry_;
  LedgerEntry* from = s->entry;
  if (account.budget_->tree != tree_ || MemoryTree::arena_node(to->node) != node_) {
    throw InvalidArgument(fmt::format("[recharge] account '{}' is not of the arena on budget '{}'",
                                      to->budget, node_->path));
  }
  tree_->uncharge(from->node, node_, s->size);
  if (BudgetNode* refuser = tree_->try_charge(to->node, node_, s->size)) {
    tree_->try_charge(from->node, node_, s->size);  // as before
    throw_out_of_memory(*tree_, lock, s->size, to, refuser, {}, this);
  }
  tree_->debit(from, s->size);
  tree_->credit(to, s->size);
  s->entry = to;
  if (!from->node->open) tree_->drop_if_unused(from->node);
}

ArenaStats ArenaState::stats() const {
  MemoryTree::Lock lock(tree_->mutex);
  ArenaStats result = stats_;
  result.live = node_->pages.live;
  result.mapped = node_->pages.mapped;
  if (closed_) return result;
  result.blocks = stats_.allocations - stats_.releases;
  result.largest_free = largest_free();
  const Bytes free = free_mapped();
  result.fragmentation =
      free == 0 ? 0 : 1.0 - static_cast<double>(result.largest_free) / static_cast<double>(free);
  return result;
}

Bytes ArenaState::free_mapped() const { return node_->pages.mapped - node_->pages.live; }

Bytes ArenaState::largest_free() const {
  Bytes largest = 0;
  for (const FreeBins& bins : bins_) largest = std::max(largest, bins.largest());
  return largest;
}

void ArenaState::abandon() noexcept {
  std::shared_ptr<ArenaState> keep = shared_from_this();
  MemoryTree::Lock lock(tree_->mutex);
  if (node_->arena == this) node_->arena = nullptr;  // closing failed: nobody may find it any more
  forget_entries(this);  // another arena may come to lie at this address
  if (stats_.allocations != stats_.releases) self_ = keep;
}

void* Block::data() const {
  if (arena_ == nullptr || arena_->closed()) return nullptr;
  return reinterpret_cast<void*>(segment_->begin);  // NOLINT: an address from the page source
}

Bytes Block::size() const { return arena_ == nullptr ? 0 : segment_->size; }

void Block::release() noexcept {
  if (arena_ != nullptr) std::exchange(arena_, nullptr)->release(segment_);
}

void Block::record_use(StreamId stream) const {
  if (arena_ != nullptr) arena_->record_use(segment_, stream);
}

void Block::recharge(const Account& account) const {
  if (arena_ != nullptr) arena_->recharge(segment_, account);
}

Arena::Arena(std::shared_ptr<PageSource> source, Budget budget, ArenaOptions options)
    : state_(
          std::make_shared<ArenaState>(std::move(source), std::move(budget), std::move(options))) {}

Arena::~Arena() {
  for (int attempt = 0; attempt < 2 && !state_->gone(); ++attempt) {
    try {
      state_->close(/*even_if_broken=*/attempt > 0);
    } catch (const std::exception&) {
      // A page source that fails twice keeps its pages, and they stay charged.
    }
  }
  state_->abandon();
}

Block Arena::allocate(Bytes bytes, const Account& account, StreamId stream) {
  return state_->allocate(bytes, account, nullptr, stream);
}

Block Arena::allocate(Bytes bytes, const Account& account, Reservation& reservation,
                      StreamId stream) {
  return state_->allocate(bytes, account, &reservation, stream);
}

void Arena::prepare(Bytes bytes) { state_->prepare(bytes); }
Bytes Arena::trim(Bytes keep) { return state_->trim(keep); }
void Arena::close() { state_->close(); }
ArenaStats Arena::stats() const { return state_->stats(); }
Budget Arena::budget() const { return state_->budget; }
const std::shared_ptr<PageSource>& Arena::source() const { return state_->source; }
void Arena::check() const { state_->check(); }

}  // namespace plimsoll

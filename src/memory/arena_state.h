#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <plimsoll/memory/arena.h>

#include "memory/memory_tree.h"
#include "memory/segments.h"

namespace plimsoll {

/// The inside of an Arena. It outlives the Arena while blocks of it are around.
///
/// Unless it says otherwise, a method expects the tree's lock to be held.
class ArenaState : public std::enable_shared_from_this<ArenaState> {
 public:
  /// Why room could not be made.
  struct Refusal {
    BudgetNode* node = nullptr;  ///< the budget whose limit forbids it
    std::string system;          ///< or what the system said
  };

  ArenaState(std::shared_ptr<PageSource> source, Budget budget, ArenaOptions options);
  ~ArenaState();

  // Entered without the lock.
  Block allocate(Bytes bytes, const Account& account, Reservation* reservation, StreamId stream);
  void release(Segment* s) noexcept;
  void record_use(Segment* s, StreamId stream);
  void recharge(Segment* s, const Account& account);
  void prepare(Bytes bytes);
  Bytes trim(Bytes keep);
  /// With `even_if_broken`, fences that fail count as passed.
  void close(bool even_if_broken = false);
  ArenaStats stats() const;
  void check() const;
  /// The Arena is going: the state stays only as long as blocks do.
  void abandon() noexcept;

  bool closed() const { return closed_.load(std::memory_order_acquire); }
  bool gone() const { return gone_; }

  /// Returns about `wanted` bytes of free pages to the system.
  Bytes reclaim(Bytes wanted);
  /// What has to be waited for before everything released can be reused anywhere. A fence of a
  /// block that cannot be recorded is left out, or what the source throws is thrown if it `must`.
  std::vector<std::shared_ptr<Fence>> fences(bool must = false);
  Bytes free_mapped() const;
  Bytes largest_free() const;

  const std::shared_ptr<PageSource> source;
  const Budget budget;

 private:
  /// A place for a new block: `begin` to `begin + size`, of which `missing` bytes have no pages.
  struct Window {
    Segment* first = nullptr;  ///< where it begins; null: there is no such place
    std::uintptr_t begin = 0;
    Bytes missing = kUnlimited;
  };
  /// Free whole chunks that can be moved or returned.
  struct Donor {
    Segment* segment = nullptr;
    AddressRange range;
  };
  struct Stream {
    StreamId id = kHostStream;
    std::uint64_t last_release = 0;
    std::uint64_t settled = 0;  ///< releases up to here are finished
    std::shared_ptr<Fence> fence;
    std::uint64_t fence_release = 0;  ///< the last release that `fence` covers
  };
  struct Pending {
    Segment* segment = nullptr;
    std::vector<StreamId> unrecorded;
    std::vector<std::shared_ptr<Fence>> fences;
  };

  /// Small blocks live apart from large ones: a long-lived scalar does not pin a large hole.
  enum Zone : std::uint8_t { kSmallZone, kLargeZone };
  static constexpr int kZones = 2;
  std::uint8_t zone_of(Bytes size) const { return size <= small_limit_ ? kSmallZone : kLargeZone; }

  /// Free memory for `size` bytes in `zone`, if there is any. Small blocks go where they fit best;
  /// large ones as low as they can, which keeps the high addresses free in one piece.
  Segment* find_free(Bytes size, std::uint8_t zone, StreamId stream,
                     int scan_limit = FreeBins::kScan) const {
    return zone == kSmallZone ? bins_[zone].best_fit(size, stream, scan_limit)
                              : bins_[zone].lowest_fit(size, stream, scan_limit);
  }

  // arena.cpp
  /// Reserves about `wanted` bytes of addresses as range_; returns its size.
  Bytes reserve_addresses(Bytes wanted);
  void require_open(const char* who) const;
  /// Makes the ledger's lines forget that they are under `arena`; null: under any.
  void forget_entries(const ArenaState* arena) noexcept;
  Block allocate_slowly(MemoryTree::Lock& lock, Bytes bytes, const Account& account,
                        Reservation* reservation, StreamId stream);
  Segment* try_allocate(Bytes size, LedgerEntry* entry, Reservation* reservation, StreamId stream,
                        Refusal& why);
  BudgetNode* charge_block(Bytes size, LedgerEntry* entry, Reservation* reservation);
  void uncharge_block(Bytes size, BudgetNode* account_node);
  /// Makes the first `size` bytes of the free segment `s` a block, charged already.
  Segment* give(Segment* s, Bytes size, LedgerEntry* entry, StreamId stream);
  void finish_release(Segment* s);
  /// Free neighbours to merge with: those of the same stream, or those of nobody, too.
  enum class Join : std::uint8_t { same, any };
  /// Merges a free segment, which is in no bin, with its neighbours and puts it into one.
  Segment* settle_free(Segment* s, Join join);
  /// Joins `s` and the free segment after it, both in no bin.
  void absorb_next_free(Segment* s);
  /// Merges a gap, which is in no list, with its neighbours and puts it into one.
  void settle_gap(Segment* s);

  // arena_pages.cpp
  Segment* make_room(Bytes size, std::uint8_t zone, StreamId stream, Refusal& why);
  /// Puts pages under all of the window; returns a segment in it, or null.
  Segment* fill(Window window, Bytes size, std::uint8_t zone, Bytes growth, Refusal& why);
  /// Makes one free segment of those in the window, of which `s` is one.
  Segment* unify(Segment* s, Window window, Bytes size);
  Window find_window(Bytes size, std::uint8_t zone, StreamId stream) const;
  /// How much may be mapped for a request of `size` before free pages are moved instead, and how
  /// much the limits allow.
  Bytes growth_allowance(Bytes size) const;
  Bytes headroom() const;
  std::vector<Donor> find_donors(AddressRange except) const;
  /// About `wanted` bytes of whole chunks at the end of `range`; at least one chunk.
  AddressRange last_chunks(AddressRange range, Bytes wanted) const;
  Segment* cut_free(Segment* s, AddressRange range);
  Segment* cut_gap(Segment* s, AddressRange range);
  Segment* map_gap(Segment* gap, AddressRange range, Refusal& why);
  Segment* move_pages(const Donor& donor, AddressRange from, Segment* gap, std::uintptr_t to,
                      Refusal& why);
  bool unmap_free(const Donor& donor, AddressRange range, Refusal& why);

  // arena_streams.cpp
  bool poll_streams();
  /// Whether something released may still be in use on a stream.
  bool in_use() const;
  Stream& stream_of(StreamId id);
  void settle_stream(Stream& stream);
  bool record_pending(Pending& pending, bool must = false);

  std::shared_ptr<MemoryTree> tree_;
  BudgetNode* node_;
  ArenaOptions options_;
  Bytes page_;
  Bytes small_limit_;
  AddressRange range_;

  SegmentList segments_;
  std::array<FreeBins, kZones> bins_{FreeBins(FreeBins::Order::none),
                                     FreeBins(FreeBins::Order::address)};
  std::array<GapList, kZones> gaps_;

  std::vector<Stream> streams_;  ///< those with releases; few
  std::vector<Pending> pending_;
  std::unordered_map<Segment*, std::vector<StreamId>> extra_uses_;
  std::uint64_t release_count_ = 0;

  ArenaStats stats_;
  Bytes chunk_ = 0;                   ///< the largest chunk to map
  std::mutex close_mutex_;            ///< one closes at a time; taken before the tree's
  bool closing_ = false;              ///< nothing more is given out or taken back
  std::atomic<bool> closed_{false};   ///< blocks have no memory any more
  std::atomic<bool> gone_{false};     ///< every page has been returned
  std::shared_ptr<ArenaState> self_;  ///< set while only blocks keep the state alive
};

}  // namespace plimsoll

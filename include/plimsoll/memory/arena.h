#pragma once

#include <cstdint>
#include <memory>

#include <plimsoll/base/bytes.h>
#include <plimsoll/memory/budget.h>
#include <plimsoll/memory/fence.h>
#include <plimsoll/memory/page_source.h>

namespace plimsoll {

struct Segment;
class ArenaState;
class TraceRecorder;

/// A piece of an arena's memory; releases itself. Movable.
///
/// A block may outlive its arena. When the arena is closed the memory is gone: data() is then null
/// and releasing does nothing.
class Block {
 public:
  Block() = default;
  Block(Block&& other) noexcept : arena_(other.arena_), segment_(other.segment_) {
    other.arena_ = nullptr;
  }
  Block& operator=(Block&& other) noexcept {
    if (this != &other) {
      if (arena_ != nullptr) release();
      arena_ = other.arena_;
      segment_ = other.segment_;
      other.arena_ = nullptr;
    }
    return *this;
  }
  ~Block() {
    if (arena_ != nullptr) release();
  }

  explicit operator bool() const { return arena_ != nullptr; }
  /// First address; null for an empty handle, a block of no bytes, or after the arena was closed.
  void* data() const;
  /// Usable size: what was asked for, rounded up to the arena's alignment.
  Bytes size() const;

  /// Gives the memory back. It is reusable at once on the block's stream, elsewhere after the
  /// fences of every stream that used it.
  void release() noexcept;

  /// Says that work on `stream`, too, uses this block: it is not reused before that is finished.
  void record_use(StreamId stream) const;

  /// Charges the block to another line of the same arena: delivered input becomes the user's.
  /// Throws OutOfMemory if a limit on the way forbids it; the block then stays as it was.
  void recharge(const Account& account) const;

 private:
  friend class Arena;
  friend class ArenaState;
  Block(ArenaState* arena, Segment* segment) : arena_(arena), segment_(segment) {}
  ArenaState* arena_ = nullptr;
  Segment* segment_ = nullptr;
};

struct ArenaOptions {
  /// Address space to reserve; 0 takes what the budget could ever need and some to move in.
  Bytes address_space = 0;
  /// Every block starts at, and is sized in, multiples of this; a power of two.
  Bytes alignment = 256;
  /// Map everything the budget's limit allows at once, and keep it: trim() returns nothing. Free
  /// pages still go where a lowered limit or a neighbour in the same tree wants them.
  bool preallocate = false;
  /// Records fences for streams; without it every stream counts as the host's.
  std::shared_ptr<FenceSource> fences = nullptr;
  /// Where to write each allocation and release, in RMM's format.
  std::shared_ptr<TraceRecorder> trace = nullptr;
};

struct ArenaStats {
  Bytes live = 0;  ///< in blocks now
  Bytes live_peak = 0;
  Bytes mapped = 0;  ///< physical memory now
  Bytes mapped_peak = 0;
  Bytes largest_free = 0;    ///< largest block that could be given without mapping
  double fragmentation = 0;  ///< share of the free mapped bytes outside largest_free
  std::uint64_t blocks = 0;  ///< live now
  std::uint64_t allocations = 0;
  std::uint64_t releases = 0;
  std::uint64_t maps = 0;  ///< calls to the page source
  std::uint64_t unmaps = 0;
  std::uint64_t moves = 0;
  Bytes bytes_allocated = 0;  ///< sum over all allocations
  Bytes bytes_mapped = 0;     ///< sum over all maps
  Bytes bytes_remapped = 0;   ///< taken from one address to serve another
  std::int64_t page_ns = 0;   ///< time spent in the page source
};

/// Gives out blocks of a page source's memory within a budget.
///
/// Grows by mapping pages; what is free coalesces and is reused: small blocks where they fit best,
/// large ones at the lowest address that has room. A request that fits nowhere is served by moving
/// free pages together where growing would leave more than a few percent unused. Pages go back to
/// the system by trim(), when a limit is lowered, when a neighbour in the same tree is short, and
/// when the arena is closed.
///
/// Small blocks live apart from large ones, so that a long-lived scalar does not pin a large hole.
///
/// Thread-safe. One lock serves a whole budget tree, so the ledger, the budgets and the arenas of
/// a device agree at every moment.
class Arena {
 public:
  /// Stands on `budget`, which must not carry an arena yet. Throws OutOfPages if no address space
  /// can be had, OutOfMemory if preallocation does not fit.
  Arena(std::shared_ptr<PageSource> source, Budget budget, ArenaOptions options = {});
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  /// A block of at least `bytes`, charged to `account`, whose budget is this arena's or below it
  /// with no other arena in between.
  /// The memory is for work on `stream`. Zero bytes give a block without memory. Throws
  /// OutOfMemory after trimming, waiting for fences and asking for relief have not helped.
  Block allocate(Bytes bytes, const Account& account, StreamId stream = kHostStream);

  /// The same, drawing on `reservation`, which must be of the account's budget.
  Block allocate(Bytes bytes, const Account& account, Reservation& reservation,
                 StreamId stream = kHostStream);

  /// Maps pages ahead so that `bytes` more can be given out without mapping, in one piece. Throws
  /// OutOfMemory.
  void prepare(Bytes bytes);

  /// Returns free pages to the system until at most `keep` bytes stay mapped, or none are free.
  /// Waits for the fences of released blocks. Returns the bytes returned.
  Bytes trim(Bytes keep = 0);

  /// Returns everything, live blocks included: their data() becomes null. Waits for the fences of
  /// all streams that were used. Further allocation throws. Idempotent.
  void close();

  ArenaStats stats() const;
  Budget budget() const;
  const std::shared_ptr<PageSource>& source() const;

  /// Checks every invariant of the arena, its budgets and its part of the ledger; throws
  /// InternalError naming the first that does not hold. For tests; slow.
  void check() const;

 private:
  std::shared_ptr<ArenaState> state_;
};

}  // namespace plimsoll

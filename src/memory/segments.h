#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/memory/fence.h>
#include <plimsoll/memory/page_source.h>

namespace plimsoll {

struct LedgerEntry;

/// A stretch of an arena's addresses. Segments tile the reserved range without holes.
struct Segment {
  enum class State : std::uint8_t {
    live,     ///< a block
    pending,  ///< a released block that streams other than its own may still use
    free,     ///< mapped, nobody's
    gap,      ///< no pages under it; whole pages
  };

  std::uintptr_t begin = 0;
  Bytes size = 0;
  Segment* prev = nullptr;  ///< by address
  Segment* next = nullptr;
  Segment* bin_prev = nullptr;  ///< among the free ones of like size, or among the gaps
  Segment* bin_next = nullptr;
  LedgerEntry* entry = nullptr;   ///< of a live block
  std::uint64_t released = 0;     ///< of a free one on a stream: when it was released
  StreamId stream = kHostStream;  ///< whose work may still touch it; kHostStream: nobody's
  State state = State::gap;
  std::uint8_t zone = 0;  ///< segments of different zones never merge

  std::uintptr_t end() const { return begin + size; }
  AddressRange range() const { return {begin, size}; }
};

/// Free segments by size: 16 classes for each power of two, so that a best fit is found by looking
/// at one class, most times.
class FreeBins {
 public:
  static constexpr int kScan = 64;

  /// Keep each class in order of address, as far as kScan steps bring it.
  enum class Order : std::uint8_t { none, address };
  explicit FreeBins(Order order) : order_(order) {}

  void insert(Segment* s);
  void remove(Segment* s);

  /// The smallest segment of at least `size` that work on `stream` may use at once, the lowest
  /// among equals; null if there is none. Looks at `scan_limit` segments of a class at most.
  Segment* best_fit(Bytes size, StreamId stream, int scan_limit = kScan) const;

  /// The segment of at least `size` with the lowest address, under the same conditions. For bins
  /// in order of address.
  Segment* lowest_fit(Bytes size, StreamId stream, int scan_limit = kScan) const;

  /// Size of the largest one.
  Bytes largest() const;

  /// All segments of at least `size`, in no order.
  std::vector<Segment*> at_least(Bytes size) const;

 private:
  static constexpr int kMinBits = 4;
  static constexpr int kSubBits = 4;
  static constexpr std::size_t kClasses = std::size_t{(64 - kMinBits)} << kSubBits;

  static std::size_t class_of(Bytes size) {
    const int e = std::bit_width(size | (Bytes{1} << kMinBits)) - 1;
    return (static_cast<std::size_t>(e - kMinBits) << kSubBits) +
           ((size >> (e - kSubBits)) & ((1U << kSubBits) - 1));
  }
  std::size_t next_class(std::size_t c) const;
  Segment* scan(std::size_t c, Bytes size, StreamId stream, int limit) const;

  Order order_;
  std::array<Segment*, kClasses> heads_{};
  std::array<std::uint64_t, (kClasses + 63) / 64> occupied_{};
};

inline void FreeBins::insert(Segment* s) {
  const std::size_t c = class_of(s->size);
  Segment* before = nullptr;
  Segment* after = heads_[c];
  if (order_ == Order::address) {
    for (int left = kScan; after != nullptr && after->begin < s->begin && left > 0; --left) {
      before = after;
      after = after->bin_next;
    }
  }
  s->bin_prev = before;
  s->bin_next = after;
  if (after != nullptr) after->bin_prev = s;
  (before != nullptr ? before->bin_next : heads_[c]) = s;
  occupied_[c / 64] |= std::uint64_t{1} << (c % 64);
}

inline void FreeBins::remove(Segment* s) {
  if (s->bin_next != nullptr) s->bin_next->bin_prev = s->bin_prev;
  if (s->bin_prev != nullptr) {
    s->bin_prev->bin_next = s->bin_next;
    return;
  }
  const std::size_t c = class_of(s->size);
  heads_[c] = s->bin_next;
  if (heads_[c] == nullptr) occupied_[c / 64] &= ~(std::uint64_t{1} << (c % 64));
}

inline std::size_t FreeBins::next_class(std::size_t c) const {
  std::size_t word = c / 64;
  if (word >= occupied_.size()) return kClasses;
  std::uint64_t bits = occupied_[word] & (~std::uint64_t{0} << (c % 64));
  while (bits == 0) {
    if (++word == occupied_.size()) return kClasses;
    bits = occupied_[word];
  }
  return word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
}

/// Gaps, in no order: there are few.
class GapList {
 public:
  void insert(Segment* s);
  void remove(Segment* s);
  /// The first; the others follow by bin_next.
  Segment* first() const { return head_; }

 private:
  Segment* head_ = nullptr;
};

/// The address-ordered list of an arena's segments, with storage for them.
class SegmentList {
 public:
  Segment* first() const { return first_; }

  /// Appends a segment at the end of the list.
  Segment* append(AddressRange range, Segment::State state, std::uint8_t zone);
  /// Cuts `s` so that it keeps its first `size` bytes; returns the rest, which has the same state,
  /// stream and zone and is in no bin.
  Segment* split(Segment* s, Bytes size);
  /// Joins `s` and the segment after it into `s`.
  void absorb_next(Segment* s);

 private:
  Segment* make();

  std::deque<Segment> storage_;
  Segment* spare_ = nullptr;  ///< linked by `next`
  Segment* first_ = nullptr;
  Segment* last_ = nullptr;
};

}  // namespace plimsoll

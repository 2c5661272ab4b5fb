#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <plimsoll/memory/trace.h>

namespace plimsoll {

/// Puts a Trace together one operation at a time and keeps its invariants: a slot is given out
/// again only when it is free, so there are never more slots than blocks live at one time. The
/// caller sees to it that the sizes' sum fits in 64 bits. Not thread-safe.
class TraceBuilder {
 public:
  /// Appends an allocation and returns the slot it went to.
  std::uint32_t allocate(Bytes bytes) {
    std::uint32_t slot = trace_.slots;
    if (free_.empty()) {
      sizes_.push_back(bytes);
      ++trace_.slots;
    } else {
      slot = free_.back();
      free_.pop_back();
      sizes_[slot] = bytes;
    }
    trace_.operations.push_back({slot, true, bytes});
    trace_.bytes_allocated += bytes;
    live_ += bytes;
    trace_.live_peak = std::max(trace_.live_peak, live_);
    return slot;
  }

  /// Appends the release of a slot that is allocated.
  void release(std::uint32_t slot) {
    trace_.operations.push_back({slot, false, sizes_[slot]});
    live_ -= sizes_[slot];
    free_.push_back(slot);
  }

  /// Size of the block in `slot`, which is allocated.
  Bytes bytes(std::uint32_t slot) const { return sizes_[slot]; }
  Bytes live() const { return live_; }
  Bytes bytes_allocated() const { return trace_.bytes_allocated; }
  std::size_t operations() const { return trace_.operations.size(); }

  /// The trace; the builder is empty afterwards.
  Trace finish() {
    sizes_.clear();
    free_.clear();
    live_ = 0;
    return std::exchange(trace_, Trace{});
  }

 private:
  Trace trace_;
  std::vector<Bytes> sizes_;
  std::vector<std::uint32_t> free_;
  Bytes live_ = 0;
};

}  // namespace plimsoll

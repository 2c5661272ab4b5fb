#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/range_use.h"

namespace plimsoll::plan {

/// Watches a plan's range in the host's memory while it runs: nothing but a task's outputs and its
/// workspace may change, not even the bytes that fill a block up to its alignment; and what nobody
/// needs any more is filled with a pattern, so that a late read shows in the results (the pattern
/// is a NaN in every floating dtype).
class RangeCheck {
 public:
  /// Throws what follow_range throws.
  RangeCheck(const Plan& plan, void* range);

  void begin();
  void before(std::size_t task);
  /// Throws InternalError naming the task and the offset.
  void after(std::size_t task);

 private:
  struct Edge {
    Piece piece;
    std::uint64_t hash;
  };
  std::uint64_t hash(const Piece& piece) const;
  Piece block(std::size_t index) const;
  void rehash(const Piece& piece);
  [[noreturn]] void fail(std::size_t task, Bytes offset) const;

  const Plan& plan_;
  std::byte* range_;
  RangeUse use_;
  std::vector<std::uint64_t> hashes_;  ///< of the range's blocks, as they should be
  std::vector<Edge> edges_;            ///< what a task must not touch in blocks that it writes to
  std::vector<std::size_t> untouched_;
};

}  // namespace plimsoll::plan

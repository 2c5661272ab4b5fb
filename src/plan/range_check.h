#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <plimsoll/plan/plan.h>

namespace plimsoll::plan {

/// Watches a plan's range in the host's memory while it runs: nothing but a task's outputs and its
/// workspace may change, and what nobody needs any more is filled with a pattern, so that a late
/// read shows in the results (the pattern is a NaN in every floating dtype).
class RangeCheck {
 public:
  RangeCheck(const Plan& plan, void* range);

  void begin();
  void before(std::size_t task);
  /// Throws InternalError naming the task and the offset.
  void after(std::size_t task);

 private:
  struct Piece {
    Bytes offset;
    Bytes bytes;
  };
  std::uint64_t hash_outside(std::size_t task) const;

  const Plan& plan_;
  std::byte* range_;
  std::vector<std::vector<Piece>> written_;  ///< by task, sorted
  std::vector<std::vector<Piece>> freed_;    ///< after each task
  std::uint64_t before_ = 0;
};

}  // namespace plimsoll::plan

#pragma once

#include <vector>

#include <plimsoll/plan/plan.h>

namespace plimsoll::plan {

/// Bytes of a plan's range.
struct Piece {
  Bytes offset = 0;
  Bytes bytes = 0;
};

/// What a plan does to its range, by task.
struct RangeUse {
  std::vector<std::vector<Piece>> written;  ///< outputs and workspace, by rising offset
  std::vector<std::vector<Piece>> freed;    ///< what nobody reads after it
};

/// Follows every value through the range by the words of the plan alone, which knows nothing of how
/// it was made. Throws InternalError naming the first task that would read what is not there any
/// more, write over what it still reads where its op does not allow that, have outputs or workspace
/// that overlap, reach beyond the range, or compute again from state that was overwritten since;
/// and the first copy that would find something else, bring what is not in the host's memory yet,
/// or have a task touch its bytes while it runs.
RangeUse follow_range(const Plan& plan);

}  // namespace plimsoll::plan

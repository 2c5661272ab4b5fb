#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <plimsoll/ops/pointwise.h>
#include <plimsoll/plan/plan.h>

namespace plimsoll::plan {

/// An input or output of a task: its number among the plan's, and which of its inputs or outputs.
struct TaskPlace {
  std::size_t task = 0;
  std::size_t index = 0;
};

/// Neighbouring pointwise tasks of a plan that one generated kernel stands for.
struct PointwiseTasks {
  std::size_t first = 0;  ///< task
  std::size_t count = 0;  ///< at least two; step i of the group is task first + i
  ops::PointwiseGroup group;
  std::vector<TaskPlace> arrays;   ///< inputs of tasks, for each of the group's arrays
  std::vector<TaskPlace> written;  ///< outputs of tasks, for each of the group's
};

/// All groups of a plan, by rising task. Results of a group have the same number of elements.
///
/// A group reads everything before it writes anything, thread by thread. So tasks stay apart where
/// the plan has put a result that is written over memory that the group still reads, unless it lies
/// exactly on a whole array of elements of the same size. A result that nothing outside the group
/// reads is not written; then it does not matter where the plan has put it. Tasks between which a
/// copy to or from the host begins or is waited for stay apart, as do tasks for which `taken` is
/// true: another launch runs them. The plan itself stays as it is.
std::vector<PointwiseTasks> pointwise_groups(const Plan& plan, const std::vector<bool>& taken);

}  // namespace plimsoll::plan

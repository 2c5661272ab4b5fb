#pragma once

#include <vector>

#include "plan/schedule.h"

namespace plimsoll::plan {

/// Says when copies to and from the host run, so that tasks wait as little as they can, and makes
/// the schedule's instances live for as long as their copies need them; then its seconds are those
/// of tasks and waits.
///
/// With `tight`, tasks wait for every copy rather than let it take memory beside others: the least
/// memory, and what it is follows from no clock.
///
/// `stored[r]` is the instance of root r that the host gets a copy of (-1: none); `fetched` are the
/// instances that come from there, in the order of their first need. There is one queue each way,
/// which copies in order. State goes back to the host after the task that writes it.
void plan_transfers(const StepModel& model, const std::vector<int>& stored,
                    const std::vector<int>& fetched, bool tight, Schedule& schedule);

}  // namespace plimsoll::plan

#pragma once

#include <plimsoll/plan/planner.h>

#include "plan/recompute_search.h"

namespace plimsoll::plan {

/// Copies of the graph's outputs, which outlive a step.
Bytes output_bytes(const StepModel& model);

/// The plan for a decision on what to keep: tasks, placed.
Plan build_plan(const StepModel& model, const Choice& choice, const PlanOptions& options,
                Bytes budget, const Choice& kept_all);

}  // namespace plimsoll::plan

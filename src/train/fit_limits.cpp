// What a running training does when its limit moves.

#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/out_of_memory.h>

#include "train/fit_loop.h"

namespace plimsoll::train {

void FitLoop::adopt(const TrainingPlan& plan, const char* why) {
  runner_.use(plan);
  ++replans_;
  log().write("replan", {{"why", std::string(why)},
                         {"step", state_.step},
                         {"planned_peak", plan.planned_peak()},
                         {"charged", plan.charged},
                         {"seconds_per_step", plan.phases.front().seconds()}});
}

Bytes FitLoop::give(Bytes wanted) {
  const Budget all = device().budget();
  const Bytes before = all.used();
  const auto freed = [&] { return before - std::min(before, all.used()); };
  // What was made ahead can be made again.
  train_.pause();
  if (validation_) validation_->pause();
  input_.arena().trim();
  const TrainingPlan& plan = memory_.plan();
  if (input_.budget().limit() > plan.input_least && plan.input != 0 &&
      input_.budget().used() <= plan.input_least) {
    input_.budget().set_limit(plan.input_least);
  }
  // The pipelines take what they may have again at the next step.
  const Bytes input = plan.input == 0 ? 0 : input_.budget().limit();
  const Bytes training = memory_.device().budget().used();
  const Bytes held = plan.input == 0 ? 0 : input_.budget().used();
  const Bytes others = all.used() - std::min(all.used(), training + held);
  const Bytes limit = before - std::min(before, wanted);
  const Bytes room = limit > others + input ? limit - others - input : 0;
  if (training > room) {
    const Bytes range =
        largest_range(plan.blocks, plan.outputs, plan.workspace, plan.page_size, room);
    std::optional<TrainingPlan> smaller;
    if (range != 0) smaller = runner_.replanned(range);
    if (smaller) adopt(*smaller, "the limit was lowered");
  }
  return freed();
}

void FitLoop::look_at_limit() {
  const Bytes limit = device().budget().limit();
  if (limit == limit_) return;
  const bool raised = limit > limit_;
  limit_ = limit;
  log().write("limit", {{"budget", limit}, {"step", state_.step}});
  const TrainingPlan& plan = memory_.plan();
  if (!raised || plan.phases.front().steps.front()->measures.empty()) return;
  const Bytes here = memory_.device().budget().used();
  const Bytes spare = device().budget().available();
  const Bytes held = input_.budget().used();
  const Bytes input = plan.input > held ? plan.input - held : 0;
  if (spare <= input) return;
  const Bytes room = here + (spare - input);
  const Bytes range =
      largest_range(plan.blocks, plan.outputs, plan.workspace, plan.page_size, room);
  if (range <= plan.range) return;
  const std::optional<TrainingPlan> larger = runner_.replanned(range);
  if (!larger || larger->phases.front().seconds() >= plan.phases.front().seconds()) return;
  try {
    adopt(*larger, "the limit was raised");
  } catch (const OutOfMemory&) {
    // Somebody else took it; the old plan still holds.
    limit_ = limit;
  }
}

}  // namespace plimsoll::train

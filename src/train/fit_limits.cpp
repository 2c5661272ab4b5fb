// What a running training does when its limit moves, or its plan was made with wrong times.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/out_of_memory.h>

#include "train/fit_loop.h"

namespace plimsoll::train {
namespace {

/// Of a step: less is not worth a new plan.
constexpr double kLeastGain = 0.03;

}  // namespace

void FitLoop::adopt(const TrainingPlan& plan, const char* why) {
  planned_peak_ = std::max(planned_peak_, memory_.plan().planned_peak());
  impl_.end_stepping();  // a callback may have made steps
  runner_.use(plan);
  log().write("replan", {{"why", std::string(why)},
                         {"step", state_.step},
                         {"planned_peak", plan.planned_peak()},
                         {"charged", plan.charged},
                         {"seconds_per_step", plan.phases.front().seconds()}});
}

Bytes FitLoop::held_by_others() const {
  const bool shared = memory_.plan().input != 0;
  const Bytes training = memory_.device().budget().used();
  Bytes others = 0;
  // The pipelines run: figures that were read while theirs changed do not belong together.
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries; ++i) {
    const Bytes held = shared ? input_.budget().used() : 0;
    const Bytes used = device().budget().used();
    others = used - std::min(used, training + held);
    if (!shared || input_.budget().used() == held) break;
  }
  return others;
}

bool FitLoop::keep_within(Bytes limit) {
  const TrainingPlan& plan = memory_.plan();
  const bool shared = plan.input != 0;  // the pipelines draw on the same budget
  const Bytes training = memory_.device().budget().used();
  const Bytes others = held_by_others();
  // The pipelines take up to their limit again at the next step; what is left over is theirs.
  if (shared && training + others + input_.budget().limit() > limit) {
    const Bytes taken = training + others;
    const Bytes rest = limit > taken ? align_down(limit - taken, KiB(64)) : 0;
    limit_input(std::min(input_.budget().limit(), std::max(rest, plan.input_least)));
  }
  const Bytes input = shared ? input_.budget().limit() : 0;
  const Bytes room = limit > others + input ? limit - others - input : 0;
  if (training <= room) return true;
  const Bytes range =
      largest_range(plan.blocks, plan.outputs, plan.workspace, plan.page_size, room);
  if (range == 0) return false;
  // With more of the host's memory if that is to be had, else with what there is.
  for (const Bytes host : {kUnlimited, memory_.host_bytes()}) {
    const std::optional<TrainingPlan> smaller = runner_.replanned(range, host);
    if (!smaller) continue;
    try {
      adopt(*smaller, "the limit was lowered");
    } catch (const OutOfMemory&) {
      continue;  // the old plan holds
    }
    ++replans_;
    return true;
  }
  return false;
}

void FitLoop::limit_input(Bytes bytes) {
  const Budget input = input_.budget();
  if (input.used() > bytes) {
    train_.pause();
    if (validation_) validation_->pause();
    input_.arena().trim();
  }
  if (input.used() <= bytes) input.set_limit(bytes);
}

void FitLoop::lend() {
  if (memory_.plan().input == 0) return;  // they run elsewhere
  const Budget input = input_.budget();
  const Bytes share = align_down(input.used() + device().budget().available(), KiB(64));
  if (share > input.limit()) input.set_limit(share);
}

Bytes FitLoop::give(Bytes wanted) {
  if (memory_.in_use()) return 0;  // a callback evaluates, and its executors know the range
  const Budget all = device().budget();
  const Bytes before = all.used();
  // A limit that is being lowered says how far; pipelines may have taken more since it asked.
  keep_within(std::min(before - std::min(before, wanted), all.coming_limit()));
  return before - std::min(before, all.used());
}

std::string FitLoop::look_at_limit() {
  const Budget all = device().budget();
  const Bytes limit = all.limit();
  const Bytes old = std::exchange(limit_, limit);
  if (limit == old) return {};
  // What exceeds the old one was taken after it was raised.
  note_peak(device().budget().peak() > old ? limit : old);
  log().write("limit", {{"budget", limit}, {"step", state_.step}});
  if (limit > old) {
    use_more();
    lend();
    return {};
  }
  if (keep_within(limit)) return {};
  // It was taken because the pipelines happened to hold little; with their least nothing fits.
  const TrainingPlan& plan = memory_.plan();
  const Bytes training = memory_.device().budget().used();
  const Bytes input = plan.input == 0 ? 0 : plan.input_least;
  const Bytes others = held_by_others();
  all.set_limit(old);
  limit_ = old;
  log().write("limit", {{"budget", old}, {"refused", limit}, {"step", state_.step}});
  return fmt::format(
      "[fit] a limit of {} is too small for this run: training holds {}, the input pipelines need "
      "at "
      "least {}{}, and no smaller plan fits; the limit stays {}",
      format_bytes(limit), format_bytes(training), format_bytes(input),
      others == 0 ? "" : fmt::format(", others hold {}", format_bytes(others)), format_bytes(old));
}

void FitLoop::note_peak(Bytes limit) {
  const Bytes peak = device().budget().peak();
  if (peak <= peak_) return;
  peak_ = peak;
  peak_limit_ = limit;
}

bool FitLoop::limit_wanted() const {
  return options_.limit_requests != nullptr && options_.limit_requests->waiting();
}

void FitLoop::serve_limit_requests() {
  if (limit_wanted()) {
    options_.limit_requests->serve([this](Bytes limit) { return take_limit(limit); });
  }
}

LimitRequests::Verdict FitLoop::take_limit(Bytes limit) {
  const Budget all = device().budget();
  const std::int64_t plans = replans_;
  LimitRequests::Verdict verdict{.refusal = {}, .before = all.limit(), .step = state_.step};
  try {
    const LimitRelief::Between between(*relief_);
    all.set_limit(limit);
  } catch (const Error& error) {
    verdict.refusal = error.what();
    return verdict;
  }
  verdict.refusal = look_at_limit();
  verdict.replanned = replans_ != plans;
  return verdict;
}

void FitLoop::use_more() {
  const TrainingPlan& plan = memory_.plan();
  if (plan.phases.front().steps.front()->measures.empty()) return;
  const Bytes here = memory_.device().budget().used();
  const Bytes held = plan.input != 0 ? input_.budget().used() : 0;
  // The pipelines keep their share; what they were lent beyond it they give back.
  const Bytes free = device().budget().available() + held;
  if (free <= plan.input) return;
  const Bytes room = here + (free - plan.input);
  const Bytes range =
      largest_range(plan.blocks, plan.outputs, plan.workspace, plan.page_size, room);
  if (range <= plan.range) return;
  const std::optional<TrainingPlan> larger = runner_.replanned(range, kUnlimited);
  if (!larger || larger->phases.front().seconds() >= runner_.seconds()) return;
  if (plan.input != 0 && input_.budget().limit() > plan.input) limit_input(plan.input);
  try {
    adopt(*larger, "the limit was raised");
    ++replans_;
  } catch (const OutOfMemory&) {
    // Somebody else took it; the old range was taken again, and the old plan holds.
    return;
  }
}

void FitLoop::measure() {
  if (options_.measure_after == 0 || steps_here_ != options_.measure_after || corrected_ > 0)
    return;
  if (device().kind() == DeviceKind::cpu) {
    correct(runner_.measure());
  } else {
    time_next_ = true;
  }
}

void FitLoop::correct(const StepRunner::Measured& found) {
  corrected_ = found.corrected;
  const double then = found.plan ? found.plan->phases.front().seconds() : found.corrected;
  const bool pays = then < found.corrected * (1 - kLeastGain);
  log().write("measured", {{"step", state_.step},
                           {"predicted_seconds_per_step", found.predicted},
                           {"corrected_seconds_per_step", found.corrected},
                           {"measured_seconds_per_step", measured_},
                           {"replan_seconds_per_step", then},
                           {"replans", pays}});
  if (!pays) return;
  try {
    adopt(*found.plan, "op times were measured");
  } catch (const OutOfMemory&) {
    return;  // the host's memory is taken; the old plan holds
  }
  ++corrections_;
  corrected_ = then;
}

}  // namespace plimsoll::train

#include "train/fit_limits.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/out_of_memory.h>

namespace plimsoll::train {

void FitLimits::begin() {
  limit_ = memory_.parent().budget().limit();
  relief_.emplace(memory_.parent().budget(), [this](Bytes wanted) { return give(wanted); });
  // The plan was made for more: the pipelines must do with what it leaves them.
  if (limit_ < memory_.plan().budget) keep_within(limit_);
}

bool FitLimits::wanted() { return relief_->wanted() || requested(); }

void FitLimits::serve() {
  relief_->serve();
  if (requested()) requests_->serve([this](Bytes limit) { return take(limit); });
}

FitLimits::Peak FitLimits::peak() {
  note_peak(memory_.parent().budget().limit());
  return peak_;
}

Bytes FitLimits::held_by_others() {
  const bool shared = memory_.plan().input != 0;
  const Bytes training = memory_.device().budget().used();
  Bytes others = 0;
  // The pipelines run: figures that were read while theirs changed do not belong together.
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries; ++i) {
    const Bytes held = shared ? input_.session().budget().used() : 0;
    const Bytes used = memory_.parent().budget().used();
    others = used - std::min(used, training + held);
    if (!shared || input_.session().budget().used() == held) break;
  }
  return others;
}

bool FitLimits::keep_within(Bytes limit) {
  const TrainingPlan& plan = memory_.plan();
  const bool shared = plan.input != 0;  // the pipelines draw on the same budget
  const Bytes training = memory_.device().budget().used();
  const Bytes others = held_by_others();
  // The pipelines take up to their limit again at the next step; what is left over is theirs.
  if (shared && training + others + input_.session().budget().limit() > limit) {
    const Bytes taken = training + others;
    const Bytes rest = limit > taken ? align_down(limit - taken, KiB(64)) : 0;
    input_.limit(std::min(input_.session().budget().limit(), std::max(rest, plan.input_least)));
  }
  const Bytes input = shared ? input_.session().budget().limit() : 0;
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
      plan_.adopt(*smaller, "the limit was lowered");
    } catch (const OutOfMemory&) {
      continue;  // the old plan holds
    }
    ++replans_;
    return true;
  }
  return false;
}

Bytes FitLimits::give(Bytes wanted) {
  if (memory_.in_use()) return 0;  // a callback evaluates, and its executors know the range
  const Budget all = memory_.parent().budget();
  const Bytes before = all.used();
  // A limit that is being lowered says how far; pipelines may have taken more since it asked.
  keep_within(std::min(before - std::min(before, wanted), all.coming_limit()));
  return before - std::min(before, all.used());
}

std::string FitLimits::look() {
  const Budget all = memory_.parent().budget();
  const Bytes limit = all.limit();
  const Bytes old = std::exchange(limit_, limit);
  if (limit == old) return {};
  // What exceeds the old one was taken after it was raised.
  note_peak(memory_.parent().budget().peak() > old ? limit : old);
  log_.write("limit", {{"budget", limit}, {"step", state_.step}});
  if (limit > old) {
    use_more();
    if (memory_.plan().input != 0) input_.lend(all);  // else they run elsewhere
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
  std::string why = fmt::format(
      "[fit] a limit of {} is too small for this run: training holds {}, the input pipelines need "
      "at least {}{}, and no smaller plan fits; the limit stays {}",
      format_bytes(limit), format_bytes(training), format_bytes(input),
      others == 0 ? "" : fmt::format(", others hold {}", format_bytes(others)), format_bytes(old));
  log_.write("limit", {{"budget", old}, {"refused", limit}, {"step", state_.step}, {"why", why}});
  return why;
}

void FitLimits::note_peak(Bytes limit) {
  const Bytes peak = memory_.parent().budget().peak();
  if (peak <= peak_.charged) return;
  peak_ = {.charged = peak, .limit = limit};
}

LimitRequests::Verdict FitLimits::take(Bytes limit) {
  const Budget all = memory_.parent().budget();
  const std::int64_t plans = replans_;
  LimitRequests::Verdict verdict{.refusal = {}, .before = all.limit(), .step = state_.step};
  try {
    const LimitRelief::Between between(*relief_);
    all.set_limit(limit);
  } catch (const Error& error) {
    verdict.refusal = error.what();
    log_.write("limit", {{"budget", all.limit()},
                         {"refused", limit},
                         {"step", state_.step},
                         {"why", verdict.refusal}});
    return verdict;
  }
  verdict.refusal = look();
  verdict.replanned = replans_ != plans;
  return verdict;
}

void FitLimits::use_more() {
  const TrainingPlan& plan = memory_.plan();
  if (plan.phases.front().steps.front()->measures.empty()) return;
  const Bytes here = memory_.device().budget().used();
  const Bytes held = plan.input != 0 ? input_.session().budget().used() : 0;
  // The pipelines keep their share; what they were lent beyond it they give back.
  const Bytes free = memory_.parent().budget().available() + held;
  if (free <= plan.input) return;
  const Bytes room = here + (free - plan.input);
  const Bytes range =
      largest_range(plan.blocks, plan.outputs, plan.workspace, plan.page_size, room);
  if (range <= plan.range) return;
  const std::optional<TrainingPlan> larger = runner_.replanned(range, kUnlimited);
  if (!larger || larger->phases.front().seconds() >= runner_.seconds()) return;
  if (plan.input != 0 && input_.session().budget().limit() > plan.input) input_.limit(plan.input);
  try {
    plan_.adopt(*larger, "the limit was raised");
    ++replans_;
  } catch (const OutOfMemory&) {
    // Somebody else took it; the old range was taken again, and the old plan holds.
    return;
  }
}

}  // namespace plimsoll::train

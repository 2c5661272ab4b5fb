// Time against budget, from plans of the whole training.

#include <algorithm>

#include <plimsoll/base/error.h>

#include "train/plan_search.h"

namespace plimsoll::train {

std::vector<plan::CurvePoint> PlanSearch::curve(int points) {
  const std::int64_t parts = candidates(request_.batch).front();
  // As much as is printed, so that what is read can be given to a training run.
  const auto printed = [](Bytes bytes) {
    const Bytes step = std::max<Bytes>(bytes / 4096, 1);
    for (Bytes up = bytes;; up += step) {
      const Bytes read = parse_bytes(format_bytes(up), "curve");
      if (read >= bytes) return read;
    }
  };
  const auto seconds_within = [&](Bytes budget) -> std::optional<double> {
    target_.budget = budget;
    const std::optional<TrainingPlan> plan = lay_out(parts);
    return plan ? std::optional(plan->phases.front().seconds()) : std::nullopt;
  };
  put_away(parts, 0);
  target_.budget = kUnlimited;
  const std::optional<TrainingPlan> whole = lay_out(parts);
  if (!whole) throw InternalError("[curve] there is no plan without a limit");
  Bytes most = whole->total();
  most = printed(std::max(most, most - whole->charged +
                                    pages_for(allocations(whole->blocks, whole->outputs,
                                                          whole->workspace, whole->range),
                                              target_.page_size(most))));
  Bytes smallest = 0;
  for (Bytes needed = least(request_, parts, target_.page_size(1)); needed > smallest;) {
    smallest = printed(needed);
    needed = least(request_, parts, target_.page_size(smallest));
  }
  put_away(parts, 0);
  std::vector<plan::CurvePoint> curve;
  for (int i = 0; i < points; ++i) {
    const double share = points > 1 ? static_cast<double>(i) / (points - 1) : 1.0;
    const Bytes budget =
        smallest >= most
            ? most
            : printed(smallest + static_cast<Bytes>(share * static_cast<double>(most - smallest)));
    if (!curve.empty() && budget <= curve.back().budget) continue;
    std::optional<double> seconds = seconds_within(budget);
    if (!seconds) continue;
    // What fits a smaller budget fits this one, too.
    if (!curve.empty()) seconds = std::min(*seconds, curve.back().seconds);
    curve.push_back({budget, *seconds});
  }
  std::ranges::reverse(curve);
  return curve;
}

}  // namespace plimsoll::train

// What a plan that does not fit says: the smallest budget for its batch, the largest batch for its
// budget.

#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "train/plan_search.h"

namespace plimsoll::train {
namespace {

/// Sizes are named in multiples of these, so that they read well and parse to what they are.
Bytes unit_for(Bytes bytes) {
  if (bytes < MiB(1)) return KiB(4);
  return bytes < MiB(64) ? KiB(64) : MiB(1);
}

std::string exact(Bytes bytes) {
  return bytes % MiB(1) == 0 ? fmt::format("{}MiB", bytes / MiB(1))
                             : fmt::format("{}KiB", bytes / KiB(1));
}

}  // namespace

const PlanSearch::Least& PlanSearch::least_of(const PlanRequest& request, std::int64_t parts) {
  const auto known = least_.find({request.batch, parts});
  if (known != least_.end()) return known->second;
  Least least;
  put_away(parts, 1);
  least.blocks = pack(trainer_.persistent(parts > 1));
  take_away(least.blocks, away_);
  const std::vector<Wanted> all = wanted(request, parts);
  least.outputs = outputs_of(all);
  for (const Wanted& each : all) least.range = std::max(least.range, smallest_range(each));
  least.input = input_for(request);
  return least_.emplace(std::pair{request.batch, parts}, std::move(least)).first->second;
}

Bytes PlanSearch::least(const PlanRequest& request, std::int64_t parts, Bytes page_size) {
  const Least& least = least_of(request, parts);
  const Bytes pages = pages_for(
      allocations(least.blocks, least.outputs, target_.device.workspace, least.range), page_size);
  return pages + least.input + target_.device.runtime + target_.others;
}

Bytes PlanSearch::smallest_budget() {
  const std::vector<std::int64_t> all = candidates();
  Bytes best = kUnlimited;
  // Parts take less the more there are, but from the second on their sums take memory, too.
  for (const std::int64_t parts : {all.front(), all.back()}) {
    // Larger limits have larger pages: the size that is named must be enough with its own.
    Bytes budget = least(request_, parts, target_.page_size(target_.budget));
    for (;;) {
      budget = align_up(budget, unit_for(budget));
      const Bytes needed = least(request_, parts, target_.page_size(budget));
      if (needed <= budget) break;
      budget = needed;
    }
    best = std::min(best, budget);
  }
  return best;
}

std::int64_t PlanSearch::largest_batch() {
  const Bytes page = target_.page_size(target_.budget);
  const auto request_for = [&](std::int64_t n) {
    PlanRequest request = request_;
    request.batch = n;
    request.remainders.clear();
    if (request.validation_batch == request_.batch) {
      request.validation_batch = n;
      request.validation_remainders.clear();
    }
    return request;
  };
  const auto parts_for = [&](std::int64_t n) {
    return divisor_from(n, std::min(n, trainer_.options.accumulate));
  };
  const auto needed = [&](std::int64_t n) { return least(request_for(n), parts_for(n), page); };
  std::int64_t high = request_.batch;
  if (high == 1) return 0;
  const Bytes one = needed(1);
  if (one > target_.budget) return 0;
  std::int64_t low = 1;
  Bytes low_bytes = one;
  Bytes high_bytes = needed(high);
  while (high - low > 1) {
    // Memory grows about evenly with the batch: guess by that, and never leave a bracket.
    const double share = high_bytes > low_bytes ? static_cast<double>(target_.budget - low_bytes) /
                                                      static_cast<double>(high_bytes - low_bytes)
                                                : 0.5;
    const auto guess = low + static_cast<std::int64_t>(share * static_cast<double>(high - low));
    const std::int64_t middle = std::clamp(guess, low + 1, high - 1);
    const Bytes bytes = needed(middle);
    if (bytes <= target_.budget) {
      low = middle;
      low_bytes = bytes;
      // The bracket's other end may be one away from the answer: look there first.
      if (high - low > 1) {
        const Bytes next = needed(low + 1);
        if (next > target_.budget) break;
        ++low;
        low_bytes = next;
      }
    } else {
      high = middle;
      high_bytes = bytes;
    }
  }
  // A search that aims at the budget sometimes gets below what was found to be the least.
  while (low + 1 < request_.batch &&
         PlanSearch(trainer_, request_for(low + 1), target_).attempt(parts_for(low + 1))) {
    ++low;
  }
  return low;
}

void PlanSearch::refuse() {
  const Bytes smallest = smallest_budget();
  const std::int64_t largest = largest_batch();
  std::string why;
  if (!trainer_.options.allow_split) {
    why = "; splitting the batch is not allowed";
  } else if (!trainer_.options.allow_split_batch_statistics && candidates().size() == 1 &&
             request_.batch > 1) {
    why = "; the batch is not split, as the model normalises by its statistics";
  }
  throw BudgetTooSmall(
      fmt::format("[plan] training with a batch of {} does not fit {} on {}{}\n"
                  "smallest budget for this batch: {}\n"
                  "largest batch for this budget: {}",
                  request_.batch, format_bytes(target_.budget),
                  target_.opened ? target_.opened->name() : target_.device.name, why,
                  exact(smallest), largest));
}

}  // namespace plimsoll::train

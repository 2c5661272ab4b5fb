// What a plan that does not fit says: the smallest budget for its batch, the largest batch for its
// budget.

#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "train/plan_search.h"

namespace plimsoll::train {
namespace {

/// Ways to split a batch that are looked at.
constexpr std::size_t kMostSplits = 6;

std::string exact(Bytes bytes) {
  return bytes % MiB(1) == 0 ? fmt::format("{}MiB", bytes / MiB(1))
                             : fmt::format("{}KiB", bytes / KiB(1));
}

}  // namespace

Bytes budget_unit_up(Bytes bytes) {
  if (bytes < MiB(1)) return align_up(bytes, KiB(4));
  return align_up(bytes, bytes < MiB(64) ? KiB(64) : MiB(1));
}

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
  least.heap = heap_of(all);
  return least_.emplace(std::pair{request.batch, parts}, std::move(least)).first->second;
}

Bytes PlanSearch::total_of(const Least& least, Bytes page_size) const {
  const Bytes pages = pages_for(
      allocations(least.blocks, least.outputs, target_.device.workspace, least.range), page_size);
  return pages + least.input + least.heap + target_.device.runtime + target_.others;
}

Bytes PlanSearch::least(const PlanRequest& request, std::int64_t parts, Bytes page_size) {
  return total_of(least_of(request, parts), page_size);
}

Bytes PlanSearch::floor_of(const PlanRequest& request, std::int64_t parts) {
  put_away(parts, 1);
  Bytes range = 0;
  for (const Wanted& each : wanted(request, parts)) {
    for (std::size_t i = 0; i < steps_of(each); ++i) {
      range = std::max(range, planner(each, i).least_range());
    }
  }
  Bytes bytes = range + input_for(request) + target_.device.runtime + target_.others;
  std::vector<PackedBlock> blocks = pack(trainer_.persistent(parts > 1));
  take_away(blocks, away_);
  for (const PackedBlock& block : blocks) bytes += block.bytes;
  return bytes;
}

Bytes PlanSearch::least_of_all(const PlanRequest& request, Bytes page_size, Bytes enough) {
  const std::vector<std::int64_t> all = candidates(request.batch);
  // Parts mostly take less the more there are, but from the second on their sums take memory, too,
  // and workspaces may be larger for small batches: all are looked at that a bound does not rule
  // out.
  Bytes best = kUnlimited;
  const auto look_at = [&](std::int64_t parts) {
    const Bytes floor = floor_of(request, parts);
    if (floor >= best) return;
    best = std::min(best, floor > enough && enough != 0 ? floor : least(request, parts, page_size));
  };
  look_at(all.front());
  const std::size_t every = (all.size() + kMostSplits - 1) / kMostSplits;
  for (std::size_t i = all.size(); i > 1 && best > enough && splits_help_;
       i -= std::min(i - 1, every)) {
    look_at(all[i - 1]);
  }
  return best;
}

Bytes PlanSearch::smallest_budget() {
  // Larger limits have larger pages: the size that is named must be enough with its own.
  Bytes budget = least_of_all(request_, target_.page_size(target_.budget), 0);
  for (;;) {
    budget = budget_unit_up(budget);
    const Bytes needed = least_of_all(request_, target_.page_size(budget), 0);
    if (needed <= budget) return budget;
    budget = needed;
  }
}

PlanRequest PlanSearch::request_for(std::int64_t n) const {
  PlanRequest request = request_;
  request.batch = n;
  request.remainders.clear();
  if (request.validation_batch == request_.batch) {
    request.validation_batch = n;
    request.validation_remainders.clear();
  }
  return request;
}

bool PlanSearch::fits(std::int64_t n) {
  const Bytes least =
      least_of_all(request_for(n), target_.page_size(target_.budget), target_.budget);
  // Nobody asks for these again, and each takes some MiB of heap.
  traced_.clear();
  return least <= target_.budget;
}

std::int64_t PlanSearch::largest_batch() {
  // Those whose batches alone are too much are ruled out without a look at the model.
  std::int64_t low = 0;
  std::int64_t high = request_.batch;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (input_for(request_for(middle)) < target_.budget ? low : high) = middle;
  }
  // If parts of one element do not fit, no others are tried.
  splits_help_ = low > 1 && may_split() && floor_of(request_for(2), 2) <= target_.budget;
  // Memory need not grow with the batch: workspaces of small ones may be larger. So it is sought
  // from above, by halves.
  while (low > 0 && !fits(low)) {
    high = low;
    low /= 2;
  }
  if (low == 0) return 0;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  // A search that aims at the budget sometimes gets below what was found to be the least.
  const auto planned = [&](std::int64_t n) {
    PlanSearch search(trainer_, request_for(n), target_);
    const std::vector<std::int64_t> all = search.candidates(n);
    return search.attempt(all.front()) || (all.size() > 1 && search.attempt(all.back()));
  };
  while (low + 1 < request_.batch && planned(low + 1)) ++low;
  return low;
}

void PlanSearch::refuse() {
  const Bytes smallest = smallest_budget();
  const std::int64_t largest = largest_batch();
  std::string why;
  if (!trainer_.options.allow_split) {
    why = "; splitting the batch is not allowed";
  } else if (request_.batch > 1 && !may_split()) {
    why = "; the batch is not split, as the model normalises by its statistics";
  }
  if (!request_.decode_file.empty()) {
    why += fmt::format("; the input pipelines must have room for {}, which takes {} to decode",
                       request_.decode_file, format_bytes(request_.decode));
  }
  throw BudgetTooSmall(
      fmt::format("[plan] training with a batch of {} does not fit {} on {}{}\n"
                  "smallest budget for this batch: {}\n"
                  "largest batch for this budget: {}{}",
                  request_.batch, format_bytes(target_.budget),
                  target_.opened ? target_.opened->name() : target_.device.name, why,
                  exact(smallest), largest, largest == 0 ? " (not even one element fits)" : ""),
      smallest, largest);
}

}  // namespace plimsoll::train

#include <plimsoll/plan/placement.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "plan/placement_improve.h"
#include "plan/placement_orders.h"
#include "plan/placement_problem.h"

namespace plimsoll::plan {
namespace {

constexpr int kOrders = 12;
constexpr int kFastOrders = 3;

/// Solves the problems, the one with the highest bound first: what it comes to is enough for the
/// others.
Placement solve(std::span<const Buffer> buffers, const PlacementOptions& options, bool search) {
  const auto start = Deadline::Clock::now();
  const Split parts = split(buffers, options.alignment);
  // Beyond a century a time point would overflow.
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365 * 100);
  Deadline deadline(start + std::clamp(options.time_limit, std::chrono::milliseconds(0), kLongest));

  Units bound = 0;
  for (const Problem& problem : parts.problems) bound = std::max(bound, problem.lower_bound);
  constexpr Units kMaxUnits = std::numeric_limits<Units>::max();
  const Units capacity =
      options.capacity
          ? static_cast<Units>(std::min(*options.capacity / parts.unit, Bytes{kMaxUnits}))
          : 0;

  const int orders = search ? kOrders : kFastOrders;
  std::vector<Solution> solutions;
  solutions.reserve(parts.problems.size());
  for (const Problem& problem : parts.problems) {
    solutions.push_back(place_by_heuristics(problem, std::max(bound, capacity), orders));
  }
  std::vector<std::size_t> order(parts.problems.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return solutions[a].height > solutions[b].height;
  });
  Units height = 0;
  if (search) {
    // A capacity below the bound cannot be met: then the least height is sought, as without one.
    const bool until_deadline = capacity >= bound;
    for (const std::size_t i : order) {
      const Units enough = std::max({bound, capacity, height});
      if (solutions[i].height > enough) {
        Improvement better = improve(parts.problems[i], std::move(solutions[i]), enough,
                                     until_deadline, options.seed, deadline);
        solutions[i] = std::move(better.solution);
        bound = std::max(bound, better.lower_bound);
      }
      height = std::max(height, solutions[i].height);
    }
  }

  Placement result;
  result.offsets.resize(buffers.size());
  for (std::size_t p = 0; p < solutions.size(); ++p) {
    const Problem& problem = parts.problems[p];
    for (std::size_t i = 0; i < problem.items.size(); ++i) {
      result.offsets[static_cast<std::size_t>(problem.items[i].source)] =
          static_cast<Bytes>(solutions[p].offsets[i]) * parts.unit;
    }
    height = std::max(height, solutions[p].height);
  }
  result.height = static_cast<Bytes>(height) * parts.unit;
  result.lower_bound = static_cast<Bytes>(bound) * parts.unit;
  result.proven_optimal = height == bound;
  result.out_of_time = deadline.was_passed();
  return result;
}

}  // namespace

Placement place(std::span<const Buffer> buffers, const PlacementOptions& options) {
  return solve(buffers, options, true);
}

Placement place_fast(std::span<const Buffer> buffers, const PlacementOptions& options) {
  return solve(buffers, options, false);
}

Bytes placement_lower_bound(std::span<const Buffer> buffers, Bytes alignment) {
  const Split parts = split(buffers, alignment);
  Units bound = 0;
  for (const Problem& problem : parts.problems) bound = std::max(bound, problem.lower_bound);
  return static_cast<Bytes>(bound) * parts.unit;
}

}  // namespace plimsoll::plan

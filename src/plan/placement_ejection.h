#pragma once

#include <cstdint>

#include "plan/placement_problem.h"
#include "plan/placement_strip.h"

namespace plimsoll::plan {

/// Lowers a placement by ejection: what sticks out above a target is taken out; each such item goes
/// into a gap, or else to where the items in its way are the cheapest to take out in their turn. An
/// item becomes dearer each time it finds no gap, so that the search leaves every circle.
class EjectionSearch {
 public:
  /// `problem` outlives this.
  EjectionSearch(const Problem& problem, std::uint64_t seed);

  /// Begins from `from` and seeks a height of `target` or below for at most `steps` insertions.
  /// True if it was found; `solution` is it then.
  bool run(const Solution& from, Units target, std::int64_t steps, Deadline& deadline);
  const Solution& solution() const { return solution_; }
  std::int64_t steps() const { return steps_; }

 private:
  void insert(std::int32_t item, Units target);
  Units cheapest(const Item& item, const std::vector<Strip::Span>& spans, Units target);

  struct Event {
    Units at;
    double cost;
  };

  const Problem& problem_;
  PlacementRandom random_;
  Strip strip_;
  std::vector<double> price_;
  std::vector<std::int32_t> open_;
  std::vector<Event> events_;
  Solution solution_;
  std::int64_t steps_ = 0;
};

}  // namespace plimsoll::plan

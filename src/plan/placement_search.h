#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "plan/placement_problem.h"

namespace plimsoll::plan {

/// A complete search for a placement within a capacity.
///
/// A state is the lowest offset that each open item may still have. Some item is the lowest one of
/// a section: the search takes a section with few candidates, tries each of them at its lowest
/// offset, and last the case that none lies there, which raises all items of the section. What
/// falls apart in time is solved piece by piece; states that failed are remembered. Runs are cut
/// after a number of steps and begin anew with another order of candidates.
class PlacementSearch {
 public:
  enum class Outcome { found, impossible, gave_up };

  PlacementSearch(const Problem& problem, Units capacity, std::uint64_t seed);
  ~PlacementSearch();

  /// Goes on for about `steps` steps more: several runs.
  Outcome run(std::int64_t steps, Deadline& deadline);
  /// After `found`.
  const Solution& solution() const;
  std::int64_t steps() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::plan

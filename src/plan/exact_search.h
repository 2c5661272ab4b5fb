#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/schedule.h"

namespace plimsoll::plan {

/// Finds, for small steps, which runs of their nodes take the least time within a bound on memory:
/// any value that can be computed again may be dropped and computed again at any moment, as often
/// as one likes. A complete search over what is in memory when, for a fixed order of first runs.
/// Deterministic.
class ExactSearch {
 public:
  /// `again[w]` says whether work w may run more than once.
  ExactSearch(const StepModel& model, std::vector<char> again);

  /// Whether a step is small enough to be searched at all.
  static bool suits(const StepModel& model);

  struct Found {
    /// The search came to its end; if not, nothing is known.
    bool complete = false;
    /// Nothing: there is no way.
    std::optional<std::vector<Run>> runs;
    Bytes peak = 0;
  };
  /// The least time within `target` bytes.
  Found fastest(Bytes target) const;
  /// The least memory; in which time is of no concern.
  Found smallest() const;

 private:
  const StepModel& model_;
  std::vector<int> again_until_;       ///< by work: may run again while no later one has run
  std::vector<std::uint64_t> useful_;  ///< roots that can still matter, by the next work in order
};

}  // namespace plimsoll::plan

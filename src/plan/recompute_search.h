#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "plan/exact_search.h"
#include "plan/schedule.h"

namespace plimsoll::plan {

/// What to keep, what to compute again and what to put into the host's memory, with what that
/// gives.
struct Choice {
  std::vector<char> keep;  ///< a Keeping by root
  std::vector<Run> runs;   ///< if there are any, they are the decision, and `keep` is not
  bool tight = false;      ///< tasks wait for copies rather than give them memory
  Bytes peak = 0;
  double seconds = 0;
  double waits = 0;  ///< of them, for copies
};

/// Finds which values to compute again, or to put into the host's memory for a while, so that a
/// step's memory stays within a target and its predicted time is small.
///
/// Candidates come from two sides: dropping, at the peak, what is cheapest per byte; and cutting
/// the forward pass into segments of which only the borders are kept. Each is then improved by
/// keeping again whatever fits, and the best by changing single decisions. Small steps are searched
/// completely, large ones for as long as it takes to simulate so many tasks. Deterministic.
class RecomputeSearch {
 public:
  /// `pinned[r]` is 1 for roots that must be kept, -1 for roots that must be computed again.
  /// Without `completely`, small steps are searched as large ones are.
  RecomputeSearch(const StepModel& model, const std::vector<signed char>& pinned = {},
                  bool completely = true);

  /// Everything kept.
  const Choice& keep_all() const { return all_[0]; }
  /// The fastest found whose peak is at most `target`; if there is none, the one with the lowest
  /// peak.
  Choice solve(Bytes target);
  /// The lowest peak found; sought once.
  const Choice& smallest();

 private:
  Choice evaluate(const std::vector<char>& keep);
  /// As solve(), with tasks that wait for copies or not.
  Choice solve_as(Bytes target, bool tight);
  Choice find_smallest();
  bool copies() const { return model_.host_room != 0 || model_.away_bytes != 0; }
  /// What one run makes and is not kept.
  struct Made {
    std::vector<int> roots;
    double price = 0;  ///< seconds to make it again, per byte
  };
  std::vector<Made> dropped_by_run(const std::vector<char>& keep) const;
  Choice greedy(Choice best, Bytes target);
  Choice improve(Choice from, Bytes target);
  /// Changes single decisions as long as that lowers the peak, down to `target`; and from there on
  /// as long as it saves time within it.
  Choice polish(Choice best, Bytes target);
  /// nullopt for a step that is too large for it, and for targets that cannot be met.
  std::optional<Choice> exact(Bytes target);
  const std::vector<Choice>& segmented();
  bool drop(std::vector<char>& keep, int root, int needed_at) const;

  const StepModel& model_;
  Scheduler scheduler_;
  std::vector<int> candidates_;  ///< roots that may be dropped
  std::vector<char> movable_;    ///< by root: may be in the host's memory for a while
  std::array<Choice, 2> all_;    ///< everything kept; tight
  std::array<std::vector<Choice>, 2> segmented_;
  std::int64_t left_ = 0;  ///< tasks that may be simulated
  bool tight_ = false;
  bool count_waits_ = true;  ///< in a choice's seconds
  std::optional<Choice> smallest_;
  std::optional<ExactSearch> exact_;
};

}  // namespace plimsoll::plan

#include "plan/placement_improve.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "plan/placement_ejection.h"
#include "plan/placement_search.h"

namespace plimsoll::plan {
namespace {

constexpr std::int64_t kEjectionSteps = 4000;
constexpr std::int64_t kSearchSteps = 12'000;
constexpr int kHalvings = 4;
constexpr int kIdleRounds = 4;
constexpr int kMaxDoublings = 12;

// A complete search of more than this would take too long for each step.
constexpr std::size_t kSearchItems = 5000;
constexpr std::int64_t kSearchPairs = 8'000'000;

class Improver {
 public:
  Improver(const Problem& problem, Solution from, Units enough, std::uint64_t seed,
           Deadline& deadline)
      : problem_(problem),
        enough_(std::max(enough, problem.lower_bound)),
        seed_(seed),
        deadline_(deadline),
        ejection_(problem, seed) {
    result_.solution = std::move(from);
    result_.lower_bound = problem.lower_bound;
  }

  Improvement run(bool until_deadline) {
    const bool searchable = is_searchable();
    int idle = 0;
    for (int round = 0; !done() && (until_deadline || idle < kIdleRounds); ++round) {
      const std::int64_t scale = std::int64_t{1} << std::min(round, kMaxDoublings);
      const Units before = result_.solution.height;
      const Units bound = result_.lower_bound;
      if (searchable) search_goal(scale * kSearchSteps);
      // Where a capacity is all that counts, a lower height than before is worth little.
      if (searchable && !until_deadline && !done()) halve(scale * kSearchSteps / 4);
      if (!done()) eject(scale * (until_deadline ? kEjectionSteps / 4 : kEjectionSteps));
      const bool moved = result_.solution.height < before || result_.lower_bound > bound;
      idle = moved ? 0 : idle + 1;
    }
    return std::move(result_);
  }

 private:
  Units height() const { return result_.solution.height; }
  /// The lowest height that is worth seeking.
  Units goal() const { return std::max(enough_, result_.lower_bound); }
  bool done() { return height() <= goal() || deadline_.passed(); }

  bool is_searchable() const {
    if (problem_.items.size() > kSearchItems) return false;
    std::int64_t pairs = 0;
    for (std::size_t i = 0; i < problem_.items.size(); ++i) {
      for (std::size_t j = i + 1; j < problem_.items.size(); ++j, ++pairs) {
        if (problem_.items[j].first >= problem_.items[i].last) break;
      }
    }
    return pairs <= kSearchPairs;
  }

  /// Seeks the goal, and goes on where it left off as long as the goal is the same.
  void search_goal(std::int64_t steps) {
    while (!done()) {
      if (!search_ || searched_ != goal()) {
        searched_ = goal();
        search_ = std::make_unique<PlacementSearch>(problem_, searched_, seed_);
      }
      const auto outcome = search_->run(steps, deadline_);
      if (outcome == PlacementSearch::Outcome::found) result_.solution = search_->solution();
      if (outcome != PlacementSearch::Outcome::impossible) return;
      result_.lower_bound = searched_ + 1;
      halve(steps);
    }
  }

  /// Seeks a height half way to the goal, or from where that fails half way back. Either end moves.
  void halve(std::int64_t steps) {
    Units below = goal() - 1;  // not found at this height
    for (int tries = 0; tries < kHalvings && height() - below > 1 && !done(); ++tries) {
      const Units target = below + (height() - below) / 2;
      PlacementSearch search(problem_, target, seed_);
      const auto outcome = search.run(steps, deadline_);
      if (outcome == PlacementSearch::Outcome::found) {
        result_.solution = search.solution();
        tries = -1;
        continue;
      }
      below = target;
      if (outcome == PlacementSearch::Outcome::impossible) {
        result_.lower_bound = target + 1;
        tries = -1;
      }
    }
  }

  void eject(std::int64_t steps) {
    // Shares of the way to the goal: large steps first.
    for (Units part = 1; part <= 16 && !done();) {
      const Units gap = height() - goal();
      const Units target = height() - std::max<Units>(1, gap / part);
      if (ejection_.run(result_.solution, target, steps, deadline_)) {
        result_.solution = ejection_.solution();
      } else {
        if (gap / part <= 1 || deadline_.passed()) return;
        part *= 2;
      }
    }
  }

  const Problem& problem_;
  Units enough_;
  std::uint64_t seed_;
  Deadline& deadline_;
  EjectionSearch ejection_;
  std::unique_ptr<PlacementSearch> search_;
  Units searched_ = -1;
  Improvement result_;
};

}  // namespace

Improvement improve(const Problem& problem, Solution from, Units enough, bool until_deadline,
                    std::uint64_t seed, Deadline& deadline) {
  return Improver(problem, std::move(from), enough, seed, deadline).run(until_deadline);
}

}  // namespace plimsoll::plan

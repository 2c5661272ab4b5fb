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
constexpr std::int64_t kSearchSteps = 2000;
constexpr int kSearchRuns = 6;
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
      if (searchable) search(scale * kSearchSteps);
      if (!done()) eject(scale * kEjectionSteps);
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

  /// Seeks the goal; where it is not found, half way to it, and so on.
  void search(std::int64_t steps) {
    Units target = goal();
    for (int tries = 0; tries < 4 && !done(); ++tries) {
      if (!search_ || searched_ != target) {
        search_ = std::make_unique<PlacementSearch>(problem_, target, seed_ + 7 * ++searches_);
        searched_ = target;
      }
      auto outcome = PlacementSearch::Outcome::gave_up;
      for (int run = 0; run < kSearchRuns && outcome == PlacementSearch::Outcome::gave_up; ++run) {
        if (deadline_.passed()) return;
        outcome = search_->run(steps, deadline_);
      }
      if (outcome == PlacementSearch::Outcome::found) {
        result_.solution = search_->solution();
        target = goal();
      } else {
        if (outcome == PlacementSearch::Outcome::impossible) result_.lower_bound = target + 1;
        // A capacity is all that counts where one is given: no half measures until it is refuted.
        target = std::max(goal(), target + (height() - target) / 2);
        if (outcome == PlacementSearch::Outcome::impossible) tries = -1;
      }
      if (target >= height()) return;
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
  std::uint64_t searches_ = 0;
  Improvement result_;
};

}  // namespace

Improvement improve(const Problem& problem, Solution from, Units enough, bool until_deadline,
                    std::uint64_t seed, Deadline& deadline) {
  return Improver(problem, std::move(from), enough, seed, deadline).run(until_deadline);
}

}  // namespace plimsoll::plan

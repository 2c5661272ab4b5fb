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
constexpr double kSearchSteps = 12'000;  // at most
constexpr int kHalvings = 4;
constexpr int kIdleRounds = 3;
constexpr int kMaxDoublings = 12;

// A step of the complete search looks at each section of each open item; a run needs a step for
// each item. Where that product is larger, ejection gets further in the same time.
constexpr double kWorkOfRun = 4e8;
constexpr double kWorkOfRound = 8e7;

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
    const auto count = static_cast<std::int64_t>(problem_.items.size());
    const std::int64_t search = search_steps();  // fewer than items lead nowhere
    const std::int64_t ejection = until_deadline ? kEjectionSteps / 4 : kEjectionSteps;
    int idle = 0;
    for (int round = 0; !done() && (until_deadline || idle < kIdleRounds); ++round) {
      const std::int64_t scale = std::int64_t{1} << std::min(round, kMaxDoublings);
      const Units gap = height() - goal();
      if (scale * search >= count) search_goal(scale * search);
      // Where a capacity is all that counts, a lower height than before is worth little.
      if (scale * search >= 4 * count && !until_deadline && !done()) halve(scale * search / 4);
      if (!done()) eject(scale * ejection);
      // Small gains do not count, or a search for the last bytes would take ages.
      const Units gain = gap - (height() - goal());
      idle = gain > height() / 1000 ? 0 : idle + 1;
    }
    return std::move(result_);
  }

 private:
  Units height() const { return result_.solution.height; }
  /// The lowest height that is worth seeking.
  Units goal() const { return std::max(enough_, result_.lower_bound); }
  bool done() { return height() <= goal() || deadline_.passed(); }

  /// Steps of a round of complete search; 0 if the problem is too large for it.
  std::int64_t search_steps() const {
    double work = 0;
    for (const Item& item : problem_.items) work += item.sections();
    if (work * static_cast<double>(problem_.items.size()) > kWorkOfRun) return 0;
    return static_cast<std::int64_t>(std::min(kWorkOfRound / work, kSearchSteps));
  }

  /// Seeks the goal, and goes on where it left off as long as the goal is the same.
  void search_goal(std::int64_t steps) {
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

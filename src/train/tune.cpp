// Trainer::tune: which of its choices a device's libraries had better make otherwise.

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "train/choice_rounds.h"

namespace plimsoll::train {
namespace {

/// Of the seconds of a key's tasks: less is not worth another choice.
constexpr double kLeastSaved = 0.03;
/// Of the time for all, what alternatives are tried in. The rest is for measuring the best again.
constexpr double kTrying = 0.7;
/// What timing whole steps takes, in rounds.
constexpr int kWholeSteps = 2;
/// How many of a key's are measured again, and how often: the fastest of several is often one that
/// was lucky.
constexpr std::size_t kFinalists = 3;
constexpr int kConfirmations = 3;

double median_of(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

bool pays(double rule, double other) { return other < rule * (1 - kLeastSaved); }

/// A key with alternatives, as far as it was measured.
struct Candidate {
  ChoiceTable::Offer offer;
  int group = 0;
  std::size_t next = 0;                  ///< of offer.others
  std::vector<double> rule;              ///< samples
  std::map<std::size_t, double> others;  ///< of offer.others, medians
  // Measured again.
  std::vector<double> rule_again;
  std::map<std::size_t, std::vector<double>> others_again;

  std::int64_t measured() const { return static_cast<std::int64_t>(others.size()); }

  /// Those that seem faster than the rule's, the fastest first, at most kFinalists of them.
  std::vector<std::size_t> finalists() const {
    std::vector<std::pair<double, std::size_t>> faster;
    const double least = median_of(rule);
    for (const auto& [other, seconds] : others) {
      if (pays(least, seconds)) faster.emplace_back(seconds, other);
    }
    std::sort(faster.begin(), faster.end());
    faster.resize(std::min(faster.size(), kFinalists));
    std::vector<std::size_t> all;
    for (const auto& [seconds, other] : faster) all.push_back(other);
    return all;
  }

  /// The fastest of those, if it was faster again; else nothing.
  std::optional<std::size_t> winner() const {
    std::optional<std::size_t> best;
    double least = 0;
    for (const auto& [other, samples] : others_again) {
      const double seconds = median_of(samples);
      if (!pays(median_of(rule_again), seconds) || (best && seconds >= least)) continue;
      best = other;
      least = seconds;
    }
    return best;
  }
};

class Tuning {
 public:
  Tuning(ChoiceRounds& rounds, const TuneOptions& options) : rounds_(rounds), options_(options) {}

  TuneResult run() {
    ChoiceRounds::Round first = round({});
    // What libraries load at first use, and clocks that rise, say nothing about later rounds.
    if (has_time(1)) first = round({});
    rule_ = first.taken;
    for (auto& [key, offer] : rounds_.offers()) {
      candidates_[key] = {.offer = std::move(offer), .rule = first.samples.at(key)};
    }
    group();
    report();
    while (may_try() && try_next()) {
    }
    for (int i = 0; i < kConfirmations && measure_again(); ++i) {
    }
    return result();
  }

 private:
  using Clock = std::chrono::steady_clock;

  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  ChoiceRounds::Round round(const Choices& wanted) {
    const double begin = seconds();
    ChoiceRounds::Round made = rounds_.run(wanted);
    round_seconds_ = seconds() - begin;
    return made;
  }

  bool has_time(int rounds) const { return seconds() + rounds * round_seconds_ < options_.seconds; }

  /// Whether the next alternatives can be tried, and the best of them measured again, in time.
  bool may_try() const {
    const int others = 1 + groups_ + kWholeSteps;
    return seconds() < options_.seconds * kTrying && has_time(1 + others);
  }

  /// Keys of one task are never tried in one round, as its time would say nothing about either.
  void group() {
    for (auto& [key, candidate] : candidates_) {
      std::set<int> taken;
      for (const std::string& other : rounds_.uses().at(key).beside) {
        const auto found = candidates_.find(other);
        if (found != candidates_.end() && other < key) taken.insert(found->second.group);
      }
      while (taken.count(candidate.group) != 0) ++candidate.group;
      groups_ = std::max(groups_, candidate.group + 1);
    }
  }

  bool has_next(const Candidate& candidate) const {
    return candidate.next < candidate.offer.others.size() &&
           candidate.measured() < options_.alternatives;
  }

  /// The next alternative of all keys of the next group that has one; false if there is none.
  bool try_next() {
    for (int tries = 0; tries < groups_; ++tries) {
      const int group = std::exchange(group_, (group_ + 1) % groups_);
      Choices wanted;
      for (auto& [key, candidate] : candidates_) {
        if (candidate.group != group || !has_next(candidate)) continue;
        wanted[key] = candidate.offer.others[candidate.next++];
      }
      if (wanted.empty()) continue;
      note(round(wanted), wanted);
      report();
      return true;
    }
    return false;
  }

  void note(const ChoiceRounds::Round& round, const Choices& wanted) {
    for (auto& [key, candidate] : candidates_) {
      if (!round.has(key)) continue;
      const std::vector<double>& samples = round.samples.at(key);
      const std::string& taken = round.taken.at(key);
      // A task that others have changed as well is no measure of this key.
      const auto& beside = rounds_.uses().at(key).beside;
      const bool alone = std::ranges::none_of(
          beside, [&](const std::string& other) { return wanted.count(other) != 0; });
      if (taken == candidate.offer.rule) {
        if (alone) candidate.rule.insert(candidate.rule.end(), samples.begin(), samples.end());
      } else if (const auto found = wanted.find(key);
                 found != wanted.end() && found->second == taken) {
        candidate.others[candidate.next - 1] = median_of(samples);
      }
    }
  }

  /// The rule's choices and the finalists', round by round; false if there are none, or no time.
  bool measure_again() {
    if (finals_.empty()) make_finals();
    if (finals_.empty() || !has_time(2 + kWholeSteps)) return false;
    const ChoiceRounds::Round rule = round({});
    std::set<std::string> keys;
    for (const auto& final : finals_) {
      if (!has_time(1 + kWholeSteps)) break;
      Choices wanted;
      for (const auto& [key, other] : final) wanted[key] = candidates_.at(key).offer.others[other];
      const ChoiceRounds::Round made = round(wanted);
      for (const auto& [key, other] : final) {
        if (!rule.has(key) || !made.has(key) || made.taken.at(key) != wanted.at(key)) continue;
        add(candidates_.at(key).others_again[other], made, key);
        keys.insert(key);
      }
      report();
    }
    for (const std::string& key : keys) add(candidates_.at(key).rule_again, rule, key);
    return true;
  }

  void make_finals() {
    for (std::size_t place = 0; place < kFinalists; ++place) {  // the likeliest first
      for (int group = 0; group < groups_; ++group) {
        std::map<std::string, std::size_t> final;
        for (const auto& [key, candidate] : candidates_) {
          const std::vector<std::size_t> all = candidate.finalists();
          if (candidate.group == group && place < all.size()) final[key] = all[place];
        }
        if (!final.empty()) finals_.push_back(std::move(final));
      }
    }
  }

  static void add(std::vector<double>& to, const ChoiceRounds::Round& from,
                  const std::string& key) {
    const std::vector<double>& samples = from.samples.at(key);
    to.insert(to.end(), samples.begin(), samples.end());
  }

  TuneResult result() {
    TuneResult result;
    result.choices = rule_;
    result.finished =
        std::ranges::none_of(candidates_, [&](const auto& each) { return has_next(each.second); });
    bool changed = false;
    for (const auto& [key, candidate] : candidates_) {
      const ChoiceRounds::Use& use = rounds_.uses().at(key);
      TunedChoice tuned{.key = key,
                        .task = use.first,
                        .tasks = use.tasks,
                        .measured = candidate.measured(),
                        .rule = candidate.offer.rule,
                        .chosen = candidate.offer.rule};
      tuned.rule_seconds = tuned.chosen_seconds = median_of(candidate.rule);
      if (const auto winner = candidate.winner()) {
        tuned.chosen = candidate.offer.others[*winner];
        tuned.rule_seconds = median_of(candidate.rule_again);
        tuned.chosen_seconds = median_of(candidate.others_again.at(*winner));
        result.choices[key] = tuned.chosen;
        changed = true;
      }
      result.tuned.push_back(std::move(tuned));
    }
    rounds_.end(result.choices);
    result.rule_step_seconds = result.chosen_step_seconds = rounds_.whole_step(rule_);
    if (changed) {
      result.chosen_step_seconds = rounds_.whole_step(result.choices);
      // Once more for both, as what comes first is often slower.
      if (has_time(kWholeSteps)) {
        const double rule = rounds_.whole_step(rule_);
        result.rule_step_seconds = std::min(result.rule_step_seconds, rule);
        const double chosen = rounds_.whole_step(result.choices);
        result.chosen_step_seconds = std::min(result.chosen_step_seconds, chosen);
      }
    }
    result.seconds = seconds();
    return result;
  }

  void report() {
    ++done_;
    if (!options_.progress) return;
    options_.progress({.seconds = seconds(),
                       .rounds = done_,
                       .keys = static_cast<std::int64_t>(candidates_.size()),
                       .better = std::ranges::count_if(candidates_, [](const auto& each) {
                         return !each.second.finalists().empty();
                       })});
  }

  ChoiceRounds& rounds_;
  const TuneOptions& options_;
  const Clock::time_point begin_ = Clock::now();
  Choices rule_;
  std::map<std::string, Candidate> candidates_;
  std::vector<std::map<std::string, std::size_t>> finals_;  ///< rounds of finalists, by key
  double round_seconds_ = 0;                                ///< of the last one
  int groups_ = 0;
  int group_ = 0;  ///< the next to be tried
  std::int64_t done_ = 0;
};

}  // namespace

TuneResult Trainer::tune(const TrainingPlan& plan, const data::Element& batch,
                         const TuneOptions& options) {
  if (impl_->fitting) throw InvalidArgument("[tune] fit() is running; stop it first");
  if (!(options.seconds > 0) || options.alternatives < 1) {
    throw InvalidArgument(fmt::format("[tune] {} seconds, {} alternatives: both must be above 0",
                                      options.seconds, options.alternatives));
  }
  if (plan.target && choice_table(*plan.target) == nullptr) {
    throw InvalidArgument(
        fmt::format("[tune] {}: its kernels leave no choice to libraries, so that there is nothing "
                    "to measure; tune on a GPU",
                    plan.target->name()));
  }
  impl_->prediction.reset();  // nothing that was prepared before may run any more
  TrainingMemory& memory = impl_->memory_for(plan);
  nn::Tensors feeds = StepRunner(*impl_, memory).feeds_of(batch);
  if (feeds.front().dim(0) != plan.batch()) {
    throw InvalidArgument(fmt::format("[tune] the batch has {} elements, the plan is for {}",
                                      feeds.front().dim(0), plan.batch()));
  }
  ChoiceRounds rounds(*impl_, memory, std::move(feeds));
  return Tuning(rounds, options).run();
}

}  // namespace plimsoll::train

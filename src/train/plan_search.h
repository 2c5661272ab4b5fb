#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include <plimsoll/plan/planner.h>

#include "train/trainer_impl.h"

namespace plimsoll::train {

/// Where and within what a plan is sought.
struct PlanTarget {
  plan::DeviceDescription device;
  std::optional<Device> opened;
  Bytes budget = 0;
  Bytes others = 0;             ///< held by others on the device
  bool input_on_device = true;  ///< the pipelines draw on the same budget
  /// Of a device opened with that limit.
  std::function<Bytes(Bytes limit)> page_size;
};

/// What input pipelines are given at least, wherever they run.
Bytes input_of(const Trainer::Impl& trainer, const PlanRequest& request);

/// The next size up that is named to people: one that reads well and parses to what it is.
Bytes budget_unit_up(Bytes bytes);

/// Finds the plan of a whole training: what to split, what to recompute, and where it all lies.
class PlanSearch {
 public:
  PlanSearch(Trainer::Impl& trainer, const PlanRequest& request, PlanTarget target);

  /// Throws BudgetTooSmall with the smallest budget and the largest batch.
  TrainingPlan run();
  /// Time against budget for the whole of what is requested, from the least budget that is of use
  /// in full to the smallest; the batch is split as it was asked for and no further. run() finds a
  /// plan for each, and its text (format_bytes) is that very number of bytes.
  std::vector<plan::CurvePoint> curve(int points);
  /// All phases of `old` in a range of at most `range`, split as they are. nullopt if they do not
  /// fit.
  /// Steps put at most `host` into the host's memory, and no more than the plan may.
  std::optional<TrainingPlan> shrink(const TrainingPlan& old, Bytes range, Bytes host);
  /// One more batch size for a plan that is running, in its range.
  std::optional<Phase> one_more(const TrainingPlan& running, Phase::Kind kind, std::int64_t batch);

 private:
  struct Wanted {
    Phase::Kind kind;
    std::int64_t batch;
    std::int64_t parts;
  };
  std::vector<Wanted> wanted(const PlanRequest& request, std::int64_t parts) const;
  /// Numbers of parts that are tried for a batch, in that order.
  std::vector<std::int64_t> candidates(std::int64_t batch);
  bool may_split();
  /// The fastest for so many parts; nullopt if none fits.
  std::optional<TrainingPlan> attempt(std::int64_t parts);
  /// With the state that is away_.
  std::optional<TrainingPlan> lay_out(std::int64_t parts);
  /// Lets about this share of the optimizer's state be in the host's memory, as far as there is
  /// room.
  void put_away(std::int64_t parts, double share);
  void put_away(const PackedBlock& block);
  /// nullopt if it does not fit.
  std::optional<Phase> plan_phase(const Wanted& wanted, Bytes range);
  Bytes smallest_range(const Wanted& wanted);
  Bytes outputs_of(const std::vector<Wanted>& all);
  /// TrainingPlan::heap.
  Bytes heap_of(const std::vector<Wanted>& all);
  Bytes input_for(const PlanRequest& request) const;
  /// The least that fits, for pages of that size.
  Bytes least(const PlanRequest& request, std::int64_t parts, Bytes page_size);
  /// The same, found once.
  struct Least {
    std::vector<PackedBlock> blocks;
    Bytes outputs = 0;
    Bytes range = 0;
    Bytes input = 0;
    Bytes heap = 0;
  };
  const Least& least_of(const PlanRequest& request, std::int64_t parts);
  /// A bound for least(), found without a search.
  Bytes floor_of(const PlanRequest& request, std::int64_t parts);
  Bytes total_of(const Least& least, Bytes page_size) const;
  /// The least for any number of parts; more than `enough` is not looked into further than it
  /// takes to know that, nor is less improved.
  Bytes least_of_all(const PlanRequest& request, Bytes page_size, Bytes enough);
  Bytes smallest_budget();
  std::int64_t largest_batch();
  /// The request with a batch of `n`, and the validation too if its batches were as large.
  PlanRequest request_for(std::int64_t n) const;
  bool fits(std::int64_t n);
  [[noreturn]] void refuse();
  void give_to_input(TrainingPlan& plan) const;
  /// Sets unconstrained_peak and unconstrained_kept.
  void compare_with_keeping(TrainingPlan& plan);

  plan::Planner& planner(const Wanted& wanted, std::size_t index);
  std::size_t steps_of(const Wanted& wanted) const;

  struct Traced {
    std::shared_ptr<const graph::Graph> graph;
    std::vector<std::string> outputs;
    /// By the state that is away, and the room for other values in the host's memory.
    std::map<std::pair<std::vector<std::string>, Bytes>, std::unique_ptr<plan::Planner>> planners;
  };
  using Key = std::tuple<Phase::Kind, std::int64_t, std::int64_t, std::size_t>;
  Traced& traced(const Wanted& wanted, std::size_t index);

  Trainer::Impl& trainer_;
  PlanRequest request_;
  PlanTarget target_;
  std::vector<std::string> away_;  ///< state that is in the host's memory between steps
  Bytes away_bytes_ = 0;
  Bytes most_host_ = kUnlimited;  ///< for values of a step
  std::map<Key, Traced> traced_;
  std::map<std::pair<std::int64_t, std::int64_t>, Least> least_;
  std::optional<bool> may_split_;
  bool splits_help_ = true;  ///< a refusal looks at parts, too
};

}  // namespace plimsoll::train

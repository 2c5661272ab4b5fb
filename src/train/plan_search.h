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
Bytes input_of(const nn::Model& model, const PlanRequest& request);

/// Finds the plan of a whole training: what to split, what to recompute, and where it all lies.
class PlanSearch {
 public:
  PlanSearch(Trainer::Impl& trainer, const PlanRequest& request, PlanTarget target);

  /// Throws BudgetTooSmall with the smallest budget and the largest batch.
  TrainingPlan run();
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
  std::vector<std::int64_t> candidates();
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
  Bytes input_for(const PlanRequest& request) const;
  /// The least that fits, for pages of that size.
  Bytes least(const PlanRequest& request, std::int64_t parts, Bytes page_size);
  /// The same, found once.
  struct Least {
    std::vector<PackedBlock> blocks;
    Bytes outputs = 0;
    Bytes range = 0;
    Bytes input = 0;
  };
  const Least& least_of(const PlanRequest& request, std::int64_t parts);
  Bytes smallest_budget();
  std::int64_t largest_batch();
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
};

}  // namespace plimsoll::train

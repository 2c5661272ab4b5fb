#pragma once

#include <optional>

#include <plimsoll/data/pipeline.h>

#include "train/run_checkpoint.h"

namespace plimsoll::train {

/// Where the batches of a fit come from: its pipelines, and the memory that they may have.
class FitInput {
 public:
  FitInput(const TrainingPlan& plan, const data::Dataset& train,
           const std::optional<data::Dataset>& validation, const FitOptions& options);

  /// Throws InvalidArgument where the two datasets share elements, and BudgetTooSmall where a file
  /// takes more memory to decode than pipelines can have.
  void check(const Trainer::Impl& impl, const TrainingMemory& memory) const;

  const Session& session() const { return session_; }
  data::Pipeline& train() { return train_; }
  bool validates() const { return validation_.has_value(); }
  /// Null if there is none.
  const data::Pipeline* validation() const { return validation_ ? &*validation_ : nullptr; }
  /// The validation pipeline at its beginning, until end_validation(); training's is paused.
  data::Pipeline& begin_validation();
  void end_validation();

  /// Lets the pipelines have at most so much, as far as they can give back what they hold.
  void limit(Bytes bytes);
  /// Lets them use everything that is free on the training's device, until somebody needs it.
  void lend(const Budget& device);

  /// Their positions.
  void save(RunState& state);
  void restore(const RunState& state);

  /// Writes to the log what was left out of the epoch that ends: the first ten and a count.
  void log_skipped(std::int64_t epoch, RunLog& log);

 private:
  void check_decoding(const data::Dataset& dataset, const Trainer::Impl& impl,
                      const TrainingMemory& memory) const;

  const data::Dataset train_set_;
  const std::optional<data::Dataset> validation_set_;
  Session session_;
  data::Pipeline train_;
  std::optional<data::Pipeline> validation_;
  bool validated_ = false;    ///< the validation pipeline has been at its end
  std::int64_t skipped_ = 0;  ///< elements that were left out and logged
};

}  // namespace plimsoll::train

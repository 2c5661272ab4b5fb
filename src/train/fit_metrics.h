#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/run_checkpoint.h"

namespace plimsoll::train {

/// The metrics of a fit: which there will be, what they are at the end of an epoch, and what
/// follows from them: whether a checkpoint is the best one, whether training stops early.
class FitMetrics {
 public:
  FitMetrics(const Trainer::Impl& impl, const TrainingMemory& memory, const FitOptions& options,
             RunState& state, bool validates)
      : impl_(impl), memory_(memory), options_(options), state_(state), validates_(validates) {}

  /// Throws InvalidArgument for a metric that is asked for and that there will not be.
  void check() const;
  const Metrics& all() const { return all_; }
  /// Those of validation, and those of training as far as the epoch has come.
  void set(Metrics validation);
  /// Those of the last epoch of a run that goes on.
  void restore();

  /// At the end of an epoch: whether it is the best so far, for the best checkpoint.
  bool improves_best();
  /// And for stopping early: counts the epochs that were not.
  void count_patience();
  /// Why training stops; empty if it does not.
  std::string out_of_patience() const;

 private:
  std::vector<std::string> names() const;
  bool improves(const std::string& metric, std::optional<double>& best, double min_delta) const;

  const Trainer::Impl& impl_;
  const TrainingMemory& memory_;
  const FitOptions& options_;
  RunState& state_;
  const bool validates_;
  Metrics all_;
};

}  // namespace plimsoll::train

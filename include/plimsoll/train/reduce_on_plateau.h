#pragma once

#include <string>

#include <plimsoll/train/callbacks.h>

namespace plimsoll::train {

struct ReduceOnPlateauOptions {
  /// Higher is better if its name ends with "accuracy", else lower.
  std::string metric = "validation_loss";
  double factor = 0.1;         ///< times the learning rate, in (0, 1)
  std::int64_t patience = 10;  ///< epochs without improvement that are let pass
  double min_delta = 1e-4;     ///< smaller changes do not count as improvement
  std::int64_t cooldown = 0;   ///< epochs after a reduction that are not looked at
  double min_rate = 0;         ///< it is reduced no further
};

/// A callback that lowers the learning rate where a metric stops improving, epoch by epoch, by
/// Optimizer::set_rate_factor: on top of the schedule. Checkpoints of the run store what it has
/// seen and the factor, so that a resumed run goes on with both. InvalidArgument for options that
/// cannot be, here, and for a metric that there is not, after the first epoch.
Callback reduce_on_plateau(const ReduceOnPlateauOptions& options = {});

}  // namespace plimsoll::train

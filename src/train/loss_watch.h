#pragma once

#include <cstdint>
#include <string>

#include "train/trainer_impl.h"

namespace plimsoll::train {

/// Ends a training whose loss is no longer a number.
class LossWatch {
 public:
  /// `allowed`: it only warns, once.
  LossWatch(const Trainer::Impl& impl, RunLog& log, bool allowed)
      : impl_(impl), log_(log), allowed_(allowed) {}

  /// The loss of `step`. Throws Diverged where it is not finite and nothing answers for that;
  /// `checkpoint` is the last one, for the message.
  void look(std::int64_t step, float loss, const std::string& checkpoint);

 private:
  const Trainer::Impl& impl_;
  RunLog& log_;
  const bool allowed_;
  std::int64_t in_a_row_ = 0;  ///< losses that are not finite
  bool warned_ = false;
};

}  // namespace plimsoll::train

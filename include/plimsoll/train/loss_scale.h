#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <plimsoll/graph/trace.h>
#include <plimsoll/optim/optimizer.h>
#include <plimsoll/tensor/tensor.h>

namespace plimsoll::train {

struct LossScaleOptions {
  double initial = 65536;
  double growth = 2;             ///< factor after `interval` steps without overflow
  double backoff = 0.5;          ///< factor after an overflow
  std::int64_t interval = 2000;  ///< in steps
};

/// Dynamic loss scaling for f16, whose gradients would vanish otherwise (Micikevicius et al. 2017):
/// the loss is multiplied before the gradients are taken, gradients are divided after; a step whose
/// gradients are not finite changes no parameter and lowers the scale, to 2^-24 at least or to
/// `initial` where that is smaller. All of it is ops on state of
/// the device: it traces, and the host never waits. Not thread-safe.
class LossScale {
 public:
  /// InvalidArgument for factors that cannot be.
  explicit LossScale(const LossScaleOptions& options = {});

  /// Allocates its two scalars, tagged `optimizer`.
  void materialize(const Device& device);
  /// "scale", and "good_steps" since it last changed; for binding and checkpoints.
  const std::vector<optim::State>& state() const { return state_; }

  Tensor scaled(const Tensor& loss) const;

  struct Result {
    std::vector<Tensor> gradients;  ///< of the loss itself
    Tensor finite;                  ///< bool scalar: all of them are
  };
  /// Divides the gradients of the scaled loss, and moves the scale.
  Result update(std::span<const Tensor> gradients);

  /// Reads the device.
  double scale() const;

 private:
  LossScaleOptions options_;
  std::vector<optim::State> state_;
};

void bind(graph::Tracer& tracer, const LossScale& scale);

}  // namespace plimsoll::train

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <plimsoll/ops/tape.h>
#include <plimsoll/ops/variable.h>

namespace plimsoll::optim {

struct WeightAverageOptions {
  /// What stays of the average at each update: an exponential moving average. Nothing said: all
  /// updates count alike (stochastic weight averaging, Izmailov et al. 2018).
  std::optional<double> decay = std::nullopt;
};

/// An average of variables over steps, for loops of one's own. A Trainer has one by itself:
/// TrainerOptions::moving_average.
///
///   pm::optim::WeightAverage average(net, {.decay = 0.999});
///   for (...) { ...; optimizer.apply(...); average.update(); }
///   average.swap();      // net has the average, and the average the weights
///
/// Not thread-safe.
class WeightAverage {
 public:
  /// The first average is what the variables hold now. Allocates as much as they take, tagged
  /// `optimizer`, all or nothing. InvalidArgument for none, for one without data, and for a decay
  /// that is not in [0, 1).
  explicit WeightAverage(std::span<const Variable> variables,
                         const WeightAverageOptions& options = {});
  template <ops::HasVariables M>
  explicit WeightAverage(const M& module, const WeightAverageOptions& options = {})
      : WeightAverage(std::span<const Variable>(module.trainable_variables()), options) {}

  /// Counts what the variables hold now.
  void update();
  std::int64_t updates() const { return updates_; }
  /// Exchanges the variables' values and the averages, in place. Twice is never.
  void swap();
  /// One for each variable.
  const std::vector<Tensor>& averages() const { return averages_; }

 private:
  std::vector<Variable> variables_;
  std::vector<Tensor> averages_;
  std::optional<double> decay_;
  std::int64_t updates_ = 0;
};

}  // namespace plimsoll::optim

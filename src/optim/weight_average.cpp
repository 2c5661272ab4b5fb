#include <plimsoll/optim/weight_average.h>

#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/update.h>

#include "optim/checks.h"

namespace plimsoll::optim {

WeightAverage::WeightAverage(std::span<const Variable> variables,
                             const WeightAverageOptions& options)
    : variables_(variables.begin(), variables.end()), decay_(options.decay) {
  if (decay_) check_share("WeightAverage", "decay", *decay_);
  if (variables_.empty()) throw InvalidArgument("[WeightAverage] there are no variables");
  for (const Variable& variable : variables_) {
    if (!variable.has_data()) {
      throw InvalidArgument(fmt::format(
          "[WeightAverage] {} has no data yet; call the module, or materialize it, first",
          variable.name()));
    }
    const Tensor& tensor = variable.tensor();
    averages_.push_back(
        tensor.clone(tensor.device(), {.tag = Tag::optimizer, .label = variable.name()}));
  }
}

void WeightAverage::update() {
  ++updates_;
  // The first average is no update, and counts for nothing in a mean of all.
  const double share = decay_ ? 1 - *decay_ : 1 / static_cast<double>(updates_);
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const Tensor away = ops::sub(variables_[i].tensor(), averages_[i]);
    ops::assign(averages_[i], ops::add(averages_[i], ops::scale(away, share)));
  }
}

void WeightAverage::swap() {
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const Tensor average = averages_[i].clone();
    ops::assign(averages_[i], variables_[i].tensor());
    ops::assign(variables_[i].tensor(), average);
  }
}

}  // namespace plimsoll::optim

#include <plimsoll/base/error.h>

#include "train/step_runner.h"

namespace plimsoll::train {

Trainer::Impl::~Impl() = default;

StepRunner& Trainer::Impl::stepping(const TrainingPlan& plan) {
  if (stepper == nullptr || !memory->holds(plan)) {
    TrainingMemory& taken = memory_for(plan);
    stepper = std::make_unique<StepRunner>(*this, taken);
  }
  // The rate lies where a step that still runs may read it.
  if (optimizer.rate_changes()) stepper->wait();
  return *stepper;
}

void Trainer::step(const TrainingPlan& plan, const Tensor& input, const Tensor& target) {
  StepRunner& runner = impl_->stepping(plan);
  const auto number = static_cast<std::uint64_t>(impl_->optimizer.step());
  impl_->optimizer.begin_step();
  runner.submit(input, target, number);
}

std::vector<double> Trainer::step_timed(const TrainingPlan& plan, const Tensor& input,
                                        const Tensor& target) {
  StepRunner& runner = impl_->stepping(plan);
  const auto number = static_cast<std::uint64_t>(impl_->optimizer.step());
  impl_->optimizer.begin_step();
  return runner.submit_timed(input, target, number);
}

float Trainer::loss() const {
  if (impl_->stepper == nullptr) throw InvalidArgument("[Trainer::loss] there was no step()");
  return impl_->stepper->loss();
}

}  // namespace plimsoll::train

#include <plimsoll/base/error.h>

#include "train/step_runner.h"

namespace plimsoll::train {

Trainer::Impl::~Impl() = default;

StepRunner& Trainer::Impl::stepping(const TrainingPlan& plan, const nn::Tensors& batch) {
  if (stepper == nullptr || !memory->holds(plan)) {
    TrainingMemory& taken = memory_for(plan);
    stepper = std::make_unique<StepRunner>(*this, taken);
  }
  const TrainingMemory::Use use(*memory);
  stepper->ready(batch);  // before anything is counted
  return *stepper;
}

void Trainer::step(const TrainingPlan& plan, const Tensor& input, const Tensor& target) {
  step(plan, nn::Tensors{input, target});
}

void Trainer::step(const TrainingPlan& plan, const nn::Tensors& batch) {
  StepRunner& runner = impl_->stepping(plan, batch);
  const TrainingMemory::Use use(*impl_->memory);
  StepCount counted(impl_->optimizer, impl_->memory->stream());
  runner.submit(batch, counted.before());
  counted.stands();
}

std::vector<double> Trainer::step_timed(const TrainingPlan& plan, const Tensor& input,
                                        const Tensor& target) {
  StepRunner& runner = impl_->stepping(plan, {input, target});
  const TrainingMemory::Use use(*impl_->memory);
  StepCount counted(impl_->optimizer, impl_->memory->stream());
  std::vector<double> seconds = runner.submit_timed({input, target}, counted.before());
  counted.stands();
  return seconds;
}

float Trainer::loss() const {
  if (impl_->stepper != nullptr && impl_->stepper->has_loss()) return impl_->stepper->loss();
  if (!impl_->last_loss) throw InvalidArgument("[Trainer::loss] there was no step()");
  return *impl_->last_loss;
}

void Trainer::wait() const {
  if (impl_->stepper != nullptr) impl_->stepper->wait();
}

void Trainer::Impl::end_stepping() {
  if (stepper != nullptr && stepper->has_loss()) last_loss = stepper->loss();
  stepper.reset();
}

}  // namespace plimsoll::train

// Values for a training's packed tensors.

#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/out_of_memory.h>

#include "train/step_runner.h"

namespace plimsoll::train {
namespace {

/// `from` with data is copied into `to`, which takes its place; without, `fill` gives the values.
template <typename Fill>
Tensor moved(const Device& device, Tensor to, const Tensor& from, const Fill& fill) {
  if (from.defined() && !from.is_symbolic()) {
    const Tensor dense = from.contiguous();
    // Only a GPU reaches both sides.
    const Device& mover = dense.device().capabilities().host_memory ? device : dense.device();
    if (dense.nbytes() != 0) mover.copy(to.raw_mutable_data(), dense.raw_data(), dense.nbytes());
  } else {
    fill(to);
  }
  return to;
}

/// Where `name` lies. InvalidArgument if there is no such place.
Tensor place_of(const TrainingMemory& memory, const std::string& name, const TensorType& type) {
  Tensor to = memory.find(name);
  if (!to.defined() || to.type() != type) {
    throw InvalidArgument(fmt::format(
        "[fit] the plan has {} for {} ({}); it was made by another trainer, use this one's plan()",
        to.defined() ? to.type().to_string() : "no place", name, type.to_string()));
  }
  return to;
}

/// Whether the memory may become that of `plan` and leave the input pipelines theirs.
bool has_room(const TrainingMemory& memory, const TrainingPlan& plan) {
  if (plan.charged <= memory.plan().charged) return true;
  const Bytes more = plan.charged - memory.plan().charged;
  const Bytes spare = memory.parent().budget().available();
  return spare >= more && spare - more >= plan.input;
}

}  // namespace

TrainingMemory& Trainer::Impl::memory_for(const TrainingPlan& plan, Purpose purpose) {
  if (!plan.target) {
    throw InvalidArgument(
        fmt::format("[fit] the plan is for {}, which is not opened; plan for a Device to run it",
                    plan.device.name));
  }
  if (fitting) {
    if (memory->serves(plan)) return *memory;
    throw InvalidArgument("[Trainer] fit() is running with another plan; use that one meanwhile");
  }
  // A step of Trainer::step may still run in the memory, and its executors know where it is.
  end_stepping();
  if (memory != nullptr && memory->serves(plan)) {
    const bool covers = memory->covers(plan);
    if (covers && (purpose == Purpose::evaluate || !has_room(*memory, plan))) return *memory;
    try {
      memory->replan(plan);
    } catch (const OutOfMemory&) {
      if (!covers) throw;
    }
    return *memory;
  }
  const auto made = [&] { return std::make_unique<TrainingMemory>(plan, *plan.target); };
  const auto fresh_memory = [&] {
    try {
      return made();
    } catch (const OutOfMemory&) {
      if (memory == nullptr) throw;
      memory->let_range_go();  // only what persists is copied
      return made();
    }
  };
  prefer_choices_on(*plan.target);
  std::unique_ptr<TrainingMemory> fresh = fresh_memory();
  const Device& device = fresh->device();
  std::vector<nn::Parameter> all = model.parameters();
  const std::vector<nn::Parameter> buffers = model.buffers();
  all.insert(all.end(), buffers.begin(), buffers.end());
  std::vector<Tensor> values;
  for (const nn::Parameter& p : all) {
    values.push_back(moved(device, place_of(*fresh, p.name(), p.type()), p.tensor(),
                           [&](Tensor& to) { nn::fill(to, p.init(), p.name(), options.seed); }));
  }
  const auto zero = [](Tensor& to) { nn::fill(to, nn::Init::zeros(), "", 0); };
  std::vector<Tensor> states;
  for (const optim::State& s : optimizer.state()) {
    states.push_back(
        moved(device, place_of(*fresh, kOptimizerPrefix + s.name(), s.type()), s.tensor(), zero));
  }
  std::vector<Tensor> scales;
  if (loss_scale) {
    for (const optim::State& s : loss_scale->state()) {
      const double initial = s.name() == "scale" ? options.precision.loss_scale->initial : 0.0;
      scales.push_back(
          moved(device, place_of(*fresh, kLossScalePrefix + s.name(), s.type()), s.tensor(),
                [&](Tensor& to) { nn::fill(to, nn::Init::constant(initial), "", 0); }));
    }
  }
  for (const optim::State& s : average) {
    const std::string name = kAveragePrefix + s.name();
    const Tensor before = memory != nullptr ? memory->find(name) : Tensor();
    // It begins with the initial weights.
    const Tensor from = before.defined() ? before : fresh->find(s.name());
    moved(device, place_of(*fresh, name, s.type()), from, zero);
  }
  for (const optim::State& s : gradients) {
    Tensor sum = fresh->find(kGradientPrefix + s.name());
    if (sum.defined()) zero(sum);
  }
  for (std::size_t i = 0; i < all.size(); ++i) all[i].set_tensor(std::move(values[i]));
  for (std::size_t i = 0; i < states.size(); ++i) {
    optimizer.state()[i].set_tensor(std::move(states[i]));
  }
  for (std::size_t i = 0; i < scales.size(); ++i) {
    loss_scale->state()[i].set_tensor(std::move(scales[i]));
  }
  memory = std::move(fresh);
  return *memory;
}

void Trainer::release() {
  if (impl_->fitting) throw InvalidArgument("[release] fit() is running; stop it first");
  impl_->end_stepping();
  impl_->prediction.reset();
  impl_->optimizer.release();
  impl_->optimizer.set_step(0);
  if (impl_->loss_scale) impl_->loss_scale.emplace(*impl_->options.precision.loss_scale);
  impl_->memory.reset();
}

void Trainer::reset() {
  if (impl_->fitting) throw InvalidArgument("[reset] fit() is running; stop it first");
  release();
  impl_->model.release();
}

}  // namespace plimsoll::train

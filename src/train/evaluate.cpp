// Evaluation and prediction, with a plan and without.

#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/shape_ops.h>

#include "train/layout.h"
#include "train/step_runner.h"

namespace plimsoll::train {
namespace {

/// What the model gives for `inputs`, in the memory of a training. Throws BudgetTooSmall where they
/// need a larger range than that has.
nn::Tensors predicted(Trainer::Impl& impl, const TrainingPlan& plan, const nn::Tensors& inputs) {
  TrainingMemory& memory = impl.memory_for(plan, Trainer::Impl::Purpose::evaluate);
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back(input.type());
  const auto traced = trace_prediction(impl.model, impl.options.precision,
                                       plan.device.capabilities.channels_last, types);
  Bytes bytes = 0;
  for (const graph::ValueId output : traced->outputs()) {
    bytes += align_up(traced->value(output).type.bytes(), kAlignment);
  }
  // First: while fit() runs, taking it may make the range smaller.
  const auto storage = Storage::allocate(memory.parent(), bytes, Tag::user, "predict");
  const TrainingMemory::Use use(memory);
  plan::PlanOptions options = impl.plan_options(plan.device, *traced);
  options.keep = options.recompute = {};
  plan::Planner planner(traced, options);
  const plan::Plan step = planner.plan(planner.fixed_bytes() + memory.plan().range);
  const auto executor = memory.executor(step, true, storage);
  executor->run(inputs, {.seed = impl.options.seed});
  return executor->outputs();
}

}  // namespace

Metrics Trainer::evaluate(const TrainingPlan& plan, const data::Dataset& dataset,
                          const data::PipelineOptions& options, const std::optional<Device>& host) {
  TrainingMemory& memory = impl_->memory_for(plan, Impl::Purpose::evaluate);
  std::optional<TrainingMemory::Use> use;  // until the runner's executors are gone
  StepRunner runner(*impl_, memory);
  const Session session = input_session(plan, host);
  data::PipelineOptions with = options;
  with.name = "evaluate";
  data::Pipeline pipeline(dataset, session.device(), with);
  MetricSums sums;
  std::int64_t count = 0;
  while (const auto element = pipeline.next()) {
    if (!use) use.emplace(memory);
    count += runner.evaluate(*element, sums);
  }
  if (count == 0) throw InvalidArgument("[evaluate] the dataset has no elements");
  return results(sums, count, impl_->options.metrics);
}

Tensor Trainer::predict(const TrainingPlan& plan, const Tensor& input) {
  return predicted(*impl_, plan, {input}).front();
}

Metrics Trainer::evaluate(const data::Dataset& dataset, const data::PipelineOptions& options,
                          const std::optional<Device>& host) {
  Impl& impl = *impl_;
  if (impl.memory != nullptr) {
    try {
      return evaluate(impl.memory->plan(), dataset, options, host);
    } catch (const NoRoomToValidate&) {
      // Beside the training's memory, then; but moving averages are only there.
      if (!impl.average.empty()) throw;
    }
  }
  const Device device = impl.device();
  const Device at = host_of("evaluate", device, host);
  impl.learn(dataset, at);
  impl.model.materialize(device, impl.options.seed);
  const PlannedFunction evaluation({.name = "evaluate", .device = device});
  std::vector<std::string> names;
  const auto body = [&](const nn::Tensors& feeds) {
    const auto inputs = static_cast<std::ptrdiff_t>(impl.batch(1).inputs.size());
    names.clear();
    return evaluation_outputs(impl.minimised(), impl.options.precision,
                              {feeds.begin(), feeds.begin() + inputs},
                              {feeds.begin() + inputs, feeds.end()}, names);
  };
  data::PipelineOptions with = options;
  with.name = "evaluate";
  data::Pipeline pipeline(dataset, at, with);
  MetricSums sums;
  std::int64_t count = 0;
  while (const auto element = pipeline.next()) {
    const nn::Tensors feeds = impl.feeds_of(*element);
    const nn::Tensors outputs = evaluation.call(feeds, body);
    const std::int64_t size = feeds.front().dim(0);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::vector<float> numbers = outputs[i].to_vector<float>();
      add(sums, {{names[i]}, {numbers.size()}, numbers.size()}, 0, numbers, size);
    }
    count += size;
  }
  if (count == 0) throw InvalidArgument("[evaluate] the dataset has no elements");
  return results(sums, count, impl.options.metrics);
}

nn::Tensors Trainer::predict(const nn::Tensors& inputs) {
  Impl& impl = *impl_;
  if (impl.memory != nullptr) {
    try {
      return predicted(impl, impl.memory->plan(), inputs);
    } catch (const BudgetTooSmall&) {
      // Beside the training's memory, then; but moving averages are only there.
      if (!impl.average.empty()) throw;
    }
  }
  const Device device = impl.device();
  if (impl.inputs.empty() && impl.model.batch_types(1).empty()) {
    std::vector<TensorType> types;
    for (const Tensor& input : inputs) types.push_back(input.type());
    impl.model.build(types);
  }
  impl.model.materialize(device, impl.options.seed);
  if (!impl.prediction) {
    impl.prediction.emplace(FunctionOptions{.name = "predict", .device = device});
  }
  return impl.prediction->call(inputs, [&](const nn::Tensors& feeds) {
    const EvaluationMode mode(impl.model);
    const PolicyScope policy(impl.options.precision);
    return impl.model(feeds);
  });
}

Tensor Trainer::predict(const Tensor& input) {
  nn::Tensors outputs = predict(nn::Tensors{input});
  if (outputs.size() != 1) {
    throw InvalidArgument(fmt::format(
        "[predict] the model has {} outputs; give a list of inputs to get a list", outputs.size()));
  }
  return std::move(outputs.front());
}

Tensor Trainer::predict(const data::Dataset& dataset, const data::PipelineOptions& options,
                        const std::optional<Device>& host) {
  nn::Tensors outputs = predict_all(dataset, options, host);
  if (outputs.size() != 1) {
    throw InvalidArgument(
        fmt::format("[predict] the model has {} outputs; use predict_all()", outputs.size()));
  }
  return std::move(outputs.front());
}

nn::Tensors Trainer::predict_all(const data::Dataset& dataset, const data::PipelineOptions& options,
                                 const std::optional<Device>& host) {
  const Device at = host_of("predict", impl_->device(), host);
  data::PipelineOptions with = options;
  with.name = "predict";
  data::Pipeline pipeline(dataset, at, with);
  std::vector<nn::Tensors> parts;  // of each output, by batch
  while (const auto element = pipeline.next()) {
    nn::Tensors outputs = predict(impl_->feeds_of(*element, false));
    parts.resize(outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) parts[i].push_back(std::move(outputs[i]));
  }
  if (parts.empty()) throw InvalidArgument("[predict] the dataset has no elements");
  nn::Tensors whole;
  for (nn::Tensors& each : parts) {
    whole.push_back(each.size() == 1 ? each.front() : ops::concat(each, 0));
    each.clear();
  }
  return whole;
}

}  // namespace plimsoll::train

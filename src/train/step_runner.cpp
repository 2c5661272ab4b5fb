#include "train/step_runner.h"

#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/backend.h>
#include <plimsoll/device/default_device.h>

#include "train/plan_heap.h"

namespace plimsoll::train {
namespace {

PlanTarget target_of_plan(const TrainingPlan& plan) {
  PlanTarget target;
  target.device = plan.device;
  target.opened = plan.target;
  target.budget = plan.budget;
  target.others = plan.others;
  target.input_on_device = plan.input != 0;
  target.page_size = [page = plan.page_size](Bytes) { return page; };
  return target;
}

PlanRequest request_of(const TrainingPlan& plan) {
  return {.batch = plan.batch(), .offload = plan.offload, .host = plan.host_device};
}

/// All numbers of a step that has run, one output after the other.
std::vector<float> numbers_of(const plan::Executor& executor) {
  std::vector<float> all;
  for (const Tensor& output : executor.outputs()) {
    const std::vector<float> each = output.to_vector<float>();
    all.insert(all.end(), each.begin(), each.end());
  }
  return all;
}

/// The same behind a step that may still run.
void copy_outputs(const plan::Executor& executor, const OutputSizes& outputs, float* to) {
  for (std::size_t i = 0; i < outputs.sizes.size(); ++i) {
    executor.copy_output(i, to);
    to += outputs.sizes[i];
  }
}

/// Copies of numbers may be under way when a later part of a step fails.
struct WaitUnlessDone {
  ~WaitUnlessDone() {
    try {
      if (armed) memory.device().synchronize(memory.stream());
    } catch (const Error&) {  // a device that has failed writes nothing any more
    }
  }
  const TrainingMemory& memory;
  bool armed = true;
};

}  // namespace

StepRunner::StepRunner(Trainer::Impl& trainer, TrainingMemory& memory)
    : trainer_(trainer), memory_(memory) {}

PlanSearch StepRunner::search() const {
  return {trainer_, request_of(memory_.plan()), target_of_plan(memory_.plan())};
}

nn::Tensors StepRunner::feeds_of(const data::Element& element) const {
  nn::Tensors feeds = trainer_.feeds_of(element);
  check(feeds);
  return feeds;
}

void StepRunner::check(const nn::Tensors& feeds) const {
  if (feeds.empty() || feeds.front().rank() < 1) {
    throw InvalidArgument(feeds.empty()
                              ? "[Trainer::step] the batch is empty: give its inputs and targets"
                              : "[Trainer::step] the input has no batch dimension");
  }
  const Batch wanted = trainer_.batch(feeds.front().dim(0));
  std::vector<TensorType> types = wanted.inputs;
  types.insert(types.end(), wanted.targets.begin(), wanted.targets.end());
  const auto list = [](const auto& all, const auto& type_of) {
    std::string text;
    for (const auto& each : all) text += (text.empty() ? "" : ", ") + type_of(each).to_string();
    return text;
  };
  if (!std::ranges::equal(feeds, types, {}, &Tensor::type)) {
    const std::string remedy =
        feeds.size() != types.size()
            ? ""
            : "; batches must have the dtypes that training was planned for, and its shapes but "
              "for the first dimension: resize the elements, or pad them to one shape, as "
              "padded_batch does with 'shapes'";
    throw InvalidArgument(fmt::format("[fit] a batch is ({}), but the model wants ({}){}",
                                      list(feeds, [](const Tensor& t) { return t.type(); }),
                                      list(types, [](const TensorType& t) { return t; }), remedy));
  }
}

StepRunner::Running& StepRunner::running(Phase::Kind kind, std::int64_t batch) {
  const auto known = running_.find({kind, batch});
  if (known != running_.end()) return known->second;
  if (memory_.plan().find(kind, batch) == nullptr) {
    const HeapScope heap(memory_.device().capabilities().host_memory);
    std::optional<Phase> phase = search().one_more(memory_.plan(), kind, batch);
    if (!phase) refuse(kind, batch);
    memory_.add(std::move(*phase));
  }
  const Phase& phase =
      *phases_.emplace_back(std::make_unique<Phase>(*memory_.plan().find(kind, batch)));
  Running made{.phase = &phase, .outputs = output_sizes(phase)};
  const bool average = kind == Phase::Kind::validation;
  for (const auto& step : phase.steps) made.steps.push_back(memory_.executor(*step, average));
  if (kind == Phase::Kind::train) trainer_.check_choices_on(memory_.parent());
  return running_.emplace(std::pair{kind, batch}, std::move(made)).first->second;
}

void StepRunner::refuse(Phase::Kind kind, std::int64_t batch) const {
  const TrainingPlan& plan = memory_.plan();
  if (kind == Phase::Kind::train) {
    throw InvalidArgument(fmt::format(
        "[fit] a training batch of {} does not fit the plan, which was made for {}; plan from the "
        "dataset, name the size to plan() as one of `remainders`, or batch with `drop_remainder`",
        batch, plan.batch()));
  }
  const bool planned = std::ranges::any_of(
      plan.phases, [](const Phase& phase) { return phase.kind == Phase::Kind::validation; });
  throw NoRoomToValidate(fmt::format(
      "[evaluate] {}, and a validation batch of {} does not fit the memory that training has; plan "
      "with {} {}",
      planned ? "the plan has no validation batches of this size" : "the plan has no validation",
      batch,
      planned ? "validation_batch or validation_remainders =" : "validation_batch =", batch));
}

void StepRunner::submit(const nn::Tensors& feeds, std::uint64_t step) {
  submit(feeds, step, false);
}

void StepRunner::submit(const nn::Tensors& feeds, std::uint64_t step, bool timed) {
  check(feeds);
  Running& now = running(Phase::Kind::train, feeds.front().dim(0));
  parts_ = now.phase->parts;
  outputs_ = &now.outputs;
  before_.assign(now.outputs.count, 0);
  const std::size_t count = now.outputs.count;
  LateNumbers numbers;
  if (sheets_ != nullptr) numbers = sheets_->take(static_cast<std::size_t>(parts_) * count);
  WaitUnlessDone guard{memory_};
  const std::int64_t micro = now.phase->batch / parts_;
  for (std::int64_t part = 0; part < parts_; ++part) {
    if (part > 0 && sheets_ == nullptr) {
      const std::vector<float> part_numbers = numbers_of(*last_);
      for (std::size_t i = 0; i < count; ++i) {
        before_[i] += static_cast<double>(part_numbers[i]);
      }
    }
    const std::size_t which = part == 0 ? 0 : part + 1 == parts_ ? now.steps.size() - 1 : 1;
    nn::Tensors sliced;
    for (const Tensor& feed : feeds) {
      sliced.push_back(feed.slice(0, part * micro, (part + 1) * micro));
    }
    const ops::RandomKey random{.seed = trainer_.options.seed,
                                .step = step,
                                .micro_batch = static_cast<std::uint32_t>(part)};
    plan::Executor& executor = *now.steps[which];
    last_ = &executor;
    if (timed) {
      add_times(executor, executor.run_timed(sliced, random));
    } else {
      executor.run(sliced, random);
    }
    if (sheets_ != nullptr) {
      copy_outputs(executor, now.outputs, numbers.at(static_cast<std::size_t>(part) * count));
    }
  }
  if (sheets_ != nullptr) numbers.submitted(memory_.device(), memory_.stream());
  guard.armed = false;
  numbers_ = std::move(numbers);
}

void StepRunner::add_times(const plan::Executor& executor, std::span<const double> seconds) {
  const plan::Plan& plan = executor.plan();
  std::vector<double> by_node(plan.graph->nodes().size(), 0);
  for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
    double& least = by_node[static_cast<std::size_t>(plan.tasks[t].node)];
    if (least == 0 || seconds[t] < least) least = seconds[t];
  }
  trainer_.times.add(*plan.graph, by_node);
  trainer_.times_of = memory_.device().backend().name;
}

std::vector<double> StepRunner::submit_timed(const nn::Tensors& feeds, std::uint64_t step) {
  check(feeds);
  Running& now = running(Phase::Kind::train, feeds.front().dim(0));
  if (now.phase->parts != 1) throw InvalidArgument("[profile] the batch is split into parts");
  parts_ = 1;
  outputs_ = &now.outputs;
  before_.assign(now.outputs.count, 0);
  last_ = now.steps.front().get();
  return now.steps.front()->run_timed(feeds, {.seed = trainer_.options.seed, .step = step});
}

void StepRunner::ready(const nn::Tensors& feeds) {
  check(feeds);
  running(Phase::Kind::train, feeds.front().dim(0));
}

void StepRunner::ready(const data::Element& element) { ready(feeds_of(element)); }

float StepRunner::loss() const {
  if (last_ == nullptr) throw InvalidArgument("[Trainer::loss] there was no step()");
  return numbers().loss;
}

StepRunner::Numbers StepRunner::numbers() const {
  std::vector<float> last = numbers_of(*last_);
  for (std::size_t i = 0; i < last.size(); ++i) {
    const double sum = before_[i] + static_cast<double>(last[i]);
    last[i] = static_cast<float>(sum / static_cast<double>(parts_));
  }
  return {.loss = last.front(), .metrics = {last.begin() + 1, last.end()}};
}

void StepRunner::wait() const {
  if (last_ != nullptr) last_->wait();
}

StepRunner::LateStep StepRunner::train(const data::Element& element, std::uint64_t step,
                                       bool timed) {
  nn::Tensors feeds = feeds_of(element);
  if (feeds_ != nullptr) {
    for (Tensor& feed : feeds) feed = feeds_->stage(feed, memory_.stream());
  }
  submit(feeds, step, timed);
  LateStep result;
  if (sheets_ == nullptr) {
    result.known_ = numbers();
  } else {
    result.late_ = std::move(numbers_);
    result.count_ = outputs_->count;
  }
  return result;
}

StepRunner::Numbers StepRunner::LateStep::wait() {
  if (!known_) {
    const std::span<const float> numbers = late_.wait();
    const std::size_t micro_batches = numbers.size() / count_;
    const auto parts = static_cast<double>(micro_batches);
    const auto mean = [&](std::size_t output) {
      double sum = 0;
      for (std::size_t i = output; i < numbers.size(); i += count_) {
        sum += static_cast<double>(numbers[i]);
      }
      return static_cast<float>(sum / parts);
    };
    known_ = Numbers{.loss = mean(0)};
    for (std::size_t i = 1; i < count_; ++i) known_->metrics.push_back(mean(i));
  }
  return *known_;
}

std::int64_t StepRunner::evaluate(const data::Element& element, MetricSums& sums) {
  const nn::Tensors feeds = feeds_of(element);
  const std::int64_t size = feeds.front().dim(0);
  Running& now = running(Phase::Kind::validation, size);
  plan::Executor& executor = *now.steps.front();
  executor.run(feeds, {.seed = trainer_.options.seed});
  if (sheets_ == nullptr) {
    add(sums, now.outputs, 0, numbers_of(executor), size);
    return size;
  }
  Evaluated next{&now.outputs, size, sheets_->take(now.outputs.count)};
  WaitUnlessDone guard{memory_};
  copy_outputs(executor, now.outputs, next.numbers.at(0));
  next.numbers.submitted(memory_.device(), memory_.stream());
  guard.armed = false;
  end_evaluation(sums);
  evaluated_ = std::move(next);
  return size;
}

void StepRunner::end_evaluation(MetricSums& sums) {
  if (!evaluated_) return;
  add(sums, *evaluated_->outputs, 0, evaluated_->numbers.wait(), evaluated_->count);
  evaluated_.reset();
}

std::optional<TrainingPlan> StepRunner::replanned(Bytes range, Bytes host) {
  const HeapScope heap(memory_.device().capabilities().host_memory);
  return search().shrink(memory_.plan(), range, host);
}

StepRunner::Measured StepRunner::measure() {
  for (const auto& step : memory_.plan().phases.front().steps) {
    trainer_.times.add(*step->graph, memory_.measure(*step));
  }
  trainer_.times_of = memory_.device().backend().name;
  return measured();
}

double StepRunner::seconds() const {
  const Phase& phase = memory_.plan().phases.front();
  if (trainer_.times.empty() || trainer_.times_of != memory_.plan().device.backend) {
    return phase.seconds();
  }
  double sum = 0;
  for (std::int64_t part = 0; part < phase.parts; ++part) {
    sum += trainer_.times.seconds(phase.step(part));
  }
  return sum;
}

StepRunner::Measured StepRunner::measured() {
  const TrainingPlan& plan = memory_.plan();
  Measured result{.predicted = plan.phases.front().seconds(), .corrected = seconds()};
  if (trainer_.times.empty()) return result;
  const HeapScope heap(memory_.device().capabilities().host_memory);
  result.plan = search().shrink(plan, plan.range, kUnlimited);
  return result;
}

void StepRunner::use(const TrainingPlan& plan) {
  last_ = nullptr;
  evaluated_.reset();
  running_.clear();
  phases_.clear();
  memory_.replan(plan);
}

Device host_of(const char* who, const Device& device, const std::optional<Device>& host) {
  if (!host) return device.capabilities().host_memory ? device : DefaultDevice::host();
  if (host->capabilities().host_memory) return *host;
  throw InvalidArgument(fmt::format(
      "[{}] input pipelines do not run on {}; leave `host` out, or give the device cpu:0", who,
      host->name()));
}

Session input_session(const TrainingPlan& plan, const std::optional<Device>& host) {
  const Device device = host_of("fit", *plan.target, host);
  const bool shared = device == *plan.target;
  if (!shared || plan.input == 0) return device.session("input");
  // A limit that was lowered since leaves less to lend.
  const Bytes most = std::max(plan.input, device.budget().limit());
  return device.session("input", Limit(std::min(plan.input + plan.lent, most)));
}

}  // namespace plimsoll::train

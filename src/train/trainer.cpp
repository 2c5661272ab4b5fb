#include <plimsoll/train/trainer.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/free_pages.h>

#include "train/fit_loop.h"
#include "train/plan_heap.h"
#include "train/plan_search.h"
#include "train/trainer_impl.h"

namespace plimsoll::train {
namespace {

void check_options(const TrainerOptions& o) {
  if (!(o.clip_norm >= 0) || !(o.clip_value >= 0) || o.accumulate < 1 ||
      !(o.moving_average >= 0 && o.moving_average < 1)) {
    throw InvalidArgument(
        fmt::format("[Trainer] clip_norm {}, clip_value {}, accumulate {}, moving_average {}: "
                    "bounds must not be negative, accumulate at least 1, the decay below 1",
                    o.clip_norm, o.clip_value, o.accumulate, o.moving_average));
  }
}

PlanTarget target_of(const Device& device, Bytes wanted) {
  PlanTarget target;
  target.device = plan::describe_device(device);
  target.opened = device;
  target.input_on_device = device.capabilities().host_memory;
  release_free_pages(device);
  const Budget budget = device.budget();
  const Bytes used = budget.used();
  target.others = used - std::min(used, target.device.runtime);
  const Bytes available = budget.available();
  target.budget = available > kUnlimited - used ? kUnlimited : used + available;
  if (wanted != 0) target.budget = std::min(target.budget, wanted);
  const Bytes page = device.arena().source()->page_size();
  const Bytes limit = target.budget;
  const bool host = device.capabilities().host_memory;
  target.page_size = [page, limit, host, device](Bytes for_limit) {
    return !host || for_limit == limit ? page : device.page_size(for_limit);
  };
  return target;
}

/// What a trainer has there is its own to use again.
PlanTarget target_of(const Trainer::Impl& trainer, const Device& device, Bytes wanted) {
  PlanTarget target = target_of(device, wanted);
  if (const TrainingMemory* own = trainer.memory_on(device)) {
    target.others -= std::min(target.others, own->charged());
  }
  return target;
}

PlanTarget target_of(const plan::DeviceDescription& device, Bytes wanted) {
  PlanTarget target;
  target.device = device;
  target.budget = wanted != 0 ? wanted : device.memory;
  target.input_on_device = device.capabilities.host_memory;
  target.page_size = [page = device.page_size](Bytes) { return std::max<Bytes>(page, 4096); };
  return target;
}

/// The largest pages that a CPU opened with such a limit may have; smaller ones round less.
Bytes largest_host_page(Bytes limit) {
  constexpr Bytes kFewPages = 64;
  if (limit / MiB(2) >= kFewPages) return MiB(2);
  return limit / KiB(64) >= kFewPages ? KiB(64) : KiB(4);
}

/// Pages of pinned memory are no larger.
constexpr Bytes kPinnedPage = MiB(2);

/// With no more of the host's memory than there is.
PlanRequest with_host(PlanRequest request, const Device& device, const Trainer::Impl& trainer) {
  if (request.offload == 0) return request;
  if (!request.host || !request.host->capabilities().host_memory) {
    throw InvalidArgument(
        "[plan] `offload` is the host's memory; name the device it comes from: `host`, the device "
        "cpu:0");
  }
  if (*request.host == device) {
    throw InvalidArgument(fmt::format("[plan] to put what {} has no room for on {} saves nothing",
                                      device.name(), device.name()));
  }
  // A block of state, one of values and one of losses, each in pages of its own; and the input
  // pipelines have to run there.
  const Bytes beside = 3 * kPinnedPage + input_of(trainer, request);
  const Bytes there = request.host->budget().available();
  request.offload = std::min(request.offload, there - std::min(there, beside));
  return request;
}

}  // namespace

std::int64_t divisor_from(std::int64_t n, std::int64_t least) {
  std::int64_t best = n;
  for (std::int64_t d = 1; d <= n / d; ++d) {
    if (n % d != 0) continue;
    if (d >= least) best = std::min(best, d);
    if (n / d >= least) best = std::min(best, n / d);
  }
  return best;
}

Trainer::Impl::Impl(const nn::Model& m, const optim::Optimizer& o, const TrainerOptions& given)
    : model(m), optimizer(o), options(given) {
  check_options(options);
  if (!optimizer.parameters().empty()) {
    throw InvalidArgument("[Trainer] the optimizer has variables already; make another one");
  }
  if (options.precision.loss_scale) loss_scale.emplace(*options.precision.loss_scale);
  if (!options.choices.empty()) choices = read_choices(options.choices);
  if (!model.batch_types(1).empty()) prepare();
}

const TrainingMemory* Trainer::Impl::memory_on(const Device& device) const {
  return memory != nullptr && memory->parent() == device ? memory.get() : nullptr;
}

PersistentState Trainer::Impl::persistent(bool split) const {
  return {.model = model,
          .optimizer = optimizer,
          .loss_scale = loss_scale ? &*loss_scale : nullptr,
          .average = average.empty() ? nullptr : &average,
          .gradients = split ? &gradients : nullptr};
}

StepRules Trainer::Impl::rules(const Capabilities& device) const {
  return {.precision = options.precision,
          .channels_last = device.channels_last,
          .clip_norm = options.clip_norm,
          .clip_value = options.clip_value,
          .average_decay = options.moving_average};
}

JudgedGraph Trainer::Impl::trace(const Capabilities& device, std::int64_t n, StepPart part,
                                 std::int64_t parts) {
  return trace_step(minimised(), optimizer, loss_scale ? &*loss_scale : nullptr,
                    average.empty() ? nullptr : &average,
                    part == StepPart::whole ? nullptr : &gradients, rules(device), batch(n), part,
                    parts);
}

plan::PlanOptions Trainer::Impl::plan_options(const plan::DeviceDescription& device,
                                              const graph::Graph& graph) const {
  plan::PlanOptions all;
  all.device = device;
  all.device.page_size = 1;  // pages are counted for all blocks together
  all.keep = options.keep;
  all.recompute = options.recompute;
  if (!times.empty() && device.backend == times_of) all.node_seconds = times.of(graph);
  return all;
}

Trainer::Trainer(const nn::Model& model, const TrainerOptions& options)
    : Trainer(model, options.optimizer ? *options.optimizer : optim::adamw(), options) {}
Trainer::Trainer(const nn::Model& model, const optim::Optimizer& optimizer,
                 const TrainerOptions& options)
    : impl_("Trainer", std::make_unique<Impl>(model, optimizer, options)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

nn::Model& Trainer::model() { return impl_->model; }
optim::Optimizer& Trainer::optimizer() { return impl_->optimizer; }
const TrainerOptions& Trainer::options() const { return impl_->options; }

TrainingPlan Trainer::plan(const PlanRequest& request, const Device& device) const {
  const HeapScope heap(device.capabilities().host_memory);
  const PlanRequest with = with_host(request, device, *impl_);
  PlanTarget target = target_of(*impl_, device, request.budget);
  if (with.offload != 0 && !device.capabilities().host_memory) {
    if (impl_->copy_rate == 0) {
      impl_->copy_rate = plan::measure_copy_rate(device, *with.host).value_or(0);
    }
    target.device.measured_copy_rate = impl_->copy_rate;
  }
  TrainingPlan plan = PlanSearch(*impl_, with, target).run();
  const TrainingMemory* const own = impl_->memory_on(device);
  if (own == nullptr || own->serves(plan)) return plan;
  // The weights lie elsewhere under that one, and are there twice while they move.
  target.others += own->persistent_bytes();
  return PlanSearch(*impl_, with, std::move(target)).run();
}

TrainingPlan Trainer::plan(const data::ElementSpec& spec, const Device& device) const {
  check(spec);
  if (!spec.known || !spec.components[0].dims || spec.components[0].dims->empty() ||
      spec.components[0].dims->front() < 1) {
    throw InvalidArgument(
        fmt::format("[plan] {} does not say how large a batch is; batch "
                    "with `drop_remainder`, or plan for a `batch` of n",
                    spec.to_string()));
  }
  const std::int64_t n = spec.components[0].dims->front();
  return plan(PlanRequest{.batch = n, .validation_batch = n}, device);
}

TrainingPlan Trainer::plan(const PlanRequest& request,
                           const plan::DeviceDescription& device) const {
  const HeapScope heap(false);
  return PlanSearch(*impl_, request, target_of(device, request.budget)).run();
}

std::vector<plan::CurvePoint> Trainer::curve(const PlanRequest& request,
                                             const plan::DeviceDescription& device,
                                             int points) const {
  const HeapScope heap(false);
  PlanTarget target = target_of(device, request.budget);
  if (device.capabilities.host_memory) target.page_size = largest_host_page;
  return PlanSearch(*impl_, request, std::move(target)).curve(points);
}

std::vector<plan::CurvePoint> Trainer::curve(const PlanRequest& request, const Device& device,
                                             int points) const {
  const HeapScope heap(false);
  PlanTarget target = target_of(*impl_, device, 0);
  if (device.capabilities().host_memory) target.page_size = largest_host_page;
  return PlanSearch(*impl_, request, std::move(target)).curve(points);
}

FitResult Trainer::fit(const data::Dataset& train, const std::optional<data::Dataset>& validation,
                       const FitOptions& options) {
  PlanRequest request;
  request.host = options.host;
  return fit(plan(train, validation, request), train, validation, options);
}

FitResult Trainer::fit(const TrainingPlan& plan, const data::Dataset& train,
                       const std::optional<data::Dataset>& validation, const FitOptions& options) {
  if (impl_->fitting) throw InvalidArgument("[fit] fit() is already running");
  check(train.element_spec());
  if (validation) check(validation->element_spec());
  FitLoop loop(*this, *impl_, plan, train, validation, options);
  struct Fitting {
    explicit Fitting(bool& flag) : on(flag) { on = true; }
    ~Fitting() { on = false; }
    bool& on;
  } const fitting(impl_->fitting);
  return loop.run();
}

void Trainer::materialize(const TrainingPlan& plan) { impl_->memory_for(plan); }

}  // namespace plimsoll::train

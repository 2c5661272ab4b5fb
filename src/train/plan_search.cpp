#include "train/plan_search.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "train/layout.h"
#include "train/plan_heap.h"

namespace plimsoll::train {
namespace {

constexpr Bytes kInputUnit = KiB(64);
/// Shares of the optimizer's state that are tried in the host's memory, and by how much a step must
/// be slower than one with room for everything for that.
constexpr std::array kShares = {1.0, 0.5, 0.25, 0.75};
constexpr double kWorthMoving = 0.01;

StepPart part_of(std::size_t index, std::int64_t parts, std::size_t steps) {
  if (parts == 1) return StepPart::whole;
  if (index == 0) return StepPart::first;
  return index + 1 == steps ? StepPart::last : StepPart::middle;
}

}  // namespace

Bytes input_of(const Trainer::Impl& trainer, const PlanRequest& request) {
  if (request.input != 0) return request.input;
  const std::int64_t n = std::max(request.batch, request.validation_batch);
  const Batch whole = trainer.batch(n);
  Bytes batch = 0;
  for (const TensorType& type : whole.inputs) batch += type.bytes();
  for (const TensorType& type : whole.targets) batch += type.bytes();
  // One that is trained on, one that is being filled; and room to lie in.
  return align_up(2 * batch + batch / 4 + request.decode + KiB(512), kInputUnit);
}

PlanSearch::PlanSearch(Trainer::Impl& trainer, const PlanRequest& request, PlanTarget target)
    : trainer_(trainer), request_(request), target_(std::move(target)) {
  if (request.batch < 1) {
    throw InvalidArgument(fmt::format("[plan] a batch of {}; give 1 or more", request.batch));
  }
  const auto check = [](const std::vector<std::int64_t>& sizes, std::int64_t batch) {
    for (const std::int64_t n : sizes) {
      if (n < 1 || n >= batch) {
        throw InvalidArgument(fmt::format(
            "[plan] a remainder of {} for batches of {}; give 1 to {}", n, batch, batch - 1));
      }
    }
  };
  check(request.remainders, request.batch);
  check(request.validation_remainders, request.validation_batch);
}

std::vector<PlanSearch::Wanted> PlanSearch::wanted(const PlanRequest& request,
                                                   std::int64_t parts) const {
  std::vector<Wanted> all = {{Phase::Kind::train, request.batch, parts}};
  const std::int64_t micro = request.batch / parts;
  for (const std::int64_t n : request.remainders) {
    const std::int64_t least =
        std::max((n + micro - 1) / micro, std::min(n, trainer_.options.accumulate));
    all.push_back({Phase::Kind::train, n, divisor_from(n, least)});
  }
  if (request.validation_batch > 0) {
    all.push_back({Phase::Kind::validation, request.validation_batch, 1});
    for (const std::int64_t n : request.validation_remainders) {
      all.push_back({Phase::Kind::validation, n, 1});
    }
  }
  return all;
}

std::size_t PlanSearch::steps_of(const Wanted& wanted) const {
  return static_cast<std::size_t>(std::min<std::int64_t>(wanted.parts, 3));
}

PlanSearch::Traced& PlanSearch::traced(const Wanted& wanted, std::size_t index) {
  const Key key{wanted.kind, wanted.batch, wanted.parts, index};
  const auto known = traced_.find(key);
  if (known != traced_.end()) return known->second;
  JudgedGraph judged =
      wanted.kind == Phase::Kind::validation
          ? trace_evaluation(trainer_.minimised(), trainer_.options.precision,
                             target_.device.capabilities.channels_last,
                             trainer_.batch(wanted.batch))
          : trainer_.trace(target_.device.capabilities, wanted.batch / wanted.parts,
                           part_of(index, wanted.parts, steps_of(wanted)), wanted.parts);
  Traced made;
  made.graph = std::move(judged.graph);
  made.outputs = std::move(judged.outputs);
  return traced_.emplace(key, std::move(made)).first->second;
}

plan::Planner& PlanSearch::planner(const Wanted& wanted, std::size_t index) {
  Traced& found = traced(wanted, index);
  const Bytes room =
      std::min(request_.offload - std::min(request_.offload, away_bytes_), most_host_);
  std::unique_ptr<plan::Planner>& planner = found.planners[{away_, room}];
  if (planner == nullptr) {
    plan::PlanOptions options = trainer_.plan_options(target_.device, *found.graph);
    if (wanted.kind == Phase::Kind::validation) options.keep = options.recompute = {};
    options.away = away_;
    options.host_room = room;
    planner = std::make_unique<plan::Planner>(found.graph, options);
  }
  return *planner;
}

void PlanSearch::put_away(std::int64_t parts, double share) {
  away_.clear();
  away_bytes_ = 0;
  if (share == 0 || request_.offload == 0) return;
  const Wanted whole{Phase::Kind::train, request_.batch, parts};
  const auto all = plan::movable_state_of(*traced(whole, steps_of(whole) - 1).graph);
  double total = 0;
  for (const auto& [name, bytes] : all) total += static_cast<double>(bytes);
  for (const auto& [name, bytes] : all) {
    if (away_bytes_ + bytes > request_.offload) continue;
    if (static_cast<double>(away_bytes_) >= share * total) break;
    away_.push_back(name);
    away_bytes_ += bytes;
  }
}

void PlanSearch::put_away(const PackedBlock& block) {
  away_.clear();
  for (const PackedTensor& tensor : block.tensors) away_.push_back(tensor.name);
  away_bytes_ = block.bytes;
}

std::optional<Phase> PlanSearch::plan_phase(const Wanted& wanted, Bytes range) {
  Phase phase{.kind = wanted.kind, .batch = wanted.batch, .parts = wanted.parts};
  phase.outputs = traced(wanted, 0).outputs;
  for (std::size_t i = 0; i < steps_of(wanted); ++i) {
    plan::Planner& planner = this->planner(wanted, i);
    const Bytes budget = range == kUnlimited ? kUnlimited : planner.fixed_bytes() + range;
    std::optional<plan::Plan> plan = planner.find(budget);
    if (!plan) return std::nullopt;
    phase.steps.push_back(std::make_shared<const plan::Plan>(std::move(*plan)));
  }
  return phase;
}

Bytes PlanSearch::smallest_range(const Wanted& wanted) {
  Bytes range = 0;
  for (std::size_t i = 0; i < steps_of(wanted); ++i) {
    range = std::max(range, planner(wanted, i).smallest().range);
  }
  return range;
}

Bytes PlanSearch::outputs_of(const std::vector<Wanted>& all) {
  Bytes most = 0;
  for (const Wanted& each : all) {
    Bytes bytes = 0;
    const graph::Graph& graph = *traced(each, 0).graph;
    for (const graph::ValueId v : graph.outputs()) {
      bytes += align_up(graph.value(v).type.bytes(), kAlignment);
    }
    most = std::max(most, bytes);
  }
  return most;
}

Bytes PlanSearch::input_for(const PlanRequest& request) const {
  if (!target_.input_on_device) return 0;
  return input_of(trainer_, request);
}

Bytes PlanSearch::heap_of(const std::vector<Wanted>& all) {
  if (!target_.input_on_device) return 0;  // the host's heap is not the device's memory
  std::int64_t nodes = 0;
  std::int64_t convolutions = 0;
  for (const Wanted& each : all) {
    for (std::size_t i = 0; i < steps_of(each); ++i) {
      for (const graph::Node& node : traced(each, i).graph->nodes()) {
        ++nodes;
        convolutions += node.op->family == "convolution" ? 1 : 0;
      }
    }
  }
  return charged_heap(nodes, convolutions);
}

void PlanSearch::give_to_input(TrainingPlan& plan) const {
  if (!target_.input_on_device || plan.budget == kUnlimited) return;
  const auto left = [&] { return plan.budget - std::min(plan.budget, plan.total()); };
  if (request_.input == 0) {
    plan.input += align_down(std::min(left() / 2, 4 * plan.input), kInputUnit);
  }
  plan.lent = align_down(left(), kInputUnit);
}

bool PlanSearch::may_split() {
  if (!may_split_) {
    const std::int64_t first =
        divisor_from(request_.batch, std::min(request_.batch, trainer_.options.accumulate));
    may_split_ =
        trainer_.options.allow_split &&
        (trainer_.options.allow_split_batch_statistics ||
         !has_batch_statistics(*traced({Phase::Kind::train, request_.batch, first}, 0).graph));
  }
  return *may_split_;
}

std::vector<std::int64_t> PlanSearch::candidates(std::int64_t batch) {
  std::vector<std::int64_t> all = {
      divisor_from(batch, std::min(batch, trainer_.options.accumulate))};
  if (all.front() == batch || !may_split()) return all;
  while (all.back() != batch) all.push_back(divisor_from(batch, 2 * all.back()));
  return all;
}

std::optional<TrainingPlan> PlanSearch::attempt(std::int64_t parts) {
  put_away(parts, 0);
  std::optional<TrainingPlan> best = lay_out(parts);
  if (request_.offload == 0) return best;
  const auto seconds = [](const TrainingPlan& plan) { return plan.phases.front().seconds(); };
  Bytes last = 0;
  for (const double share : kShares) {
    if (best) {
      double kept = 0;
      const Phase& phase = best->phases.front();
      for (std::int64_t part = 0; part < parts; ++part) kept += phase.step(part).kept_seconds;
      if (seconds(*best) <= kept * (1 + kWorthMoving)) break;
    }
    put_away(parts, share);
    if (away_bytes_ == last) continue;
    last = away_bytes_;
    std::optional<TrainingPlan> plan = lay_out(parts);
    // Nothing saves more than all of it, unless it takes the room from the activations.
    if (!plan && !best && away_bytes_ <= request_.offload / 2) return std::nullopt;
    if (plan && (!best || seconds(*plan) < seconds(*best))) best = std::move(plan);
  }
  return best;
}

std::optional<TrainingPlan> PlanSearch::lay_out(std::int64_t parts) {
  TrainingPlan plan;
  plan.device = target_.device;
  plan.target = target_.opened;
  plan.budget = target_.budget;
  plan.page_size = target_.page_size(target_.budget);
  plan.workspace = target_.device.workspace;
  plan.runtime = target_.device.runtime;
  plan.others = target_.others;
  plan.input = plan.input_least = input_for(request_);
  plan.blocks = pack(trainer_.persistent(parts > 1));
  plan.away = take_away(plan.blocks, away_);
  plan.offload = request_.offload;
  plan.host_device = request_.host;
  const std::vector<Wanted> all = wanted(request_, parts);
  // What does not fit by its batches alone need not be traced.
  const Bytes beside = plan.runtime + plan.others + plan.input;
  if (plan.budget <= beside) return std::nullopt;
  plan.outputs = outputs_of(all);
  plan.heap = heap_of(all);
  Bytes limit = kUnlimited;
  if (plan.budget != kUnlimited) {
    const Bytes taken = beside + plan.heap;
    if (plan.budget <= taken) return std::nullopt;
    limit = largest_range(plan.blocks, plan.outputs, plan.workspace, plan.page_size,
                          plan.budget - taken);
    if (limit == 0) return std::nullopt;
  }
  for (const Wanted& each : all) {
    // What trains decides on the range; the others fit into it if they can.
    std::optional<Phase> phase;
    if (!plan.phases.empty() && plan.range < limit) phase = plan_phase(each, plan.range);
    if (!phase) phase = plan_phase(each, limit);
    if (!phase) return std::nullopt;
    plan.range = std::max(plan.range, phase->range());
    plan.host = std::max(plan.host, phase->host());
    plan.phases.push_back(std::move(*phase));
  }
  plan.charged =
      pages_for(allocations(plan.blocks, plan.outputs, plan.workspace, plan.range), plan.page_size);
  compare_with_keeping(plan);
  give_to_input(plan);
  return plan;
}

void PlanSearch::compare_with_keeping(TrainingPlan& plan) {
  // All state is on the device in this one.
  const auto away = std::exchange(away_, {});
  const Bytes away_bytes = std::exchange(away_bytes_, 0);
  std::vector<Wanted> all = {{Phase::Kind::train, request_.batch, 1}};
  if (request_.validation_batch > 0) {
    all.push_back({Phase::Kind::validation, request_.validation_batch, 1});
  }
  TrainingPlan kept;
  kept.blocks = pack(trainer_.persistent(false));
  kept.outputs = plan.outputs;
  kept.workspace = plan.workspace;
  for (const Wanted& each : all) {
    const plan::Planner& planner = this->planner(each, 0);
    const Bytes beside = planner.fixed_bytes() - target_.device.runtime;
    kept.range = std::max(kept.range, planner.unconstrained_peak() - beside);
  }
  // Gaps that a placement leaves are not in a planner's figure.
  plan.unconstrained_peak = std::max(
      kept.planned_peak(), plan.parts() == 1 && away.empty() ? plan.planned_peak() : Bytes{0});
  plan.unconstrained_kept = planner(all.front(), 0).kept_bytes();
  away_ = away;
  away_bytes_ = away_bytes;
}

TrainingPlan PlanSearch::run() {
  for (const std::int64_t parts : candidates(request_.batch)) {
    if (std::optional<TrainingPlan> plan = attempt(parts)) return std::move(*plan);
  }
  refuse();
}

std::optional<TrainingPlan> PlanSearch::shrink(const TrainingPlan& old, Bytes range, Bytes host) {
  put_away(old.away);
  most_host_ = host;
  TrainingPlan plan = old;
  plan.phases.clear();
  plan.range = plan.host = 0;
  for (const Phase& phase : old.phases) {
    std::optional<Phase> again = plan_phase({phase.kind, phase.batch, phase.parts}, range);
    if (!again) return std::nullopt;
    plan.range = std::max(plan.range, again->range());
    plan.host = std::max(plan.host, again->host());
    plan.phases.push_back(std::move(*again));
  }
  plan.charged =
      pages_for(allocations(plan.blocks, plan.outputs, plan.workspace, plan.range), plan.page_size);
  return plan;
}

std::optional<Phase> PlanSearch::one_more(const TrainingPlan& running, Phase::Kind kind,
                                          std::int64_t batch) {
  put_away(running.away);
  most_host_ = running.host;
  Wanted wanted{kind, batch, 1};
  if (kind == Phase::Kind::train) {
    const std::int64_t micro = running.batch() / running.parts();
    const std::int64_t least =
        std::max((batch + micro - 1) / micro, std::min(batch, trainer_.options.accumulate));
    wanted.parts = divisor_from(batch, least);
    if (wanted.parts > 1 && running.parts() == 1) return std::nullopt;  // there are no sums
  }
  if (outputs_of({wanted}) > running.outputs) return std::nullopt;
  return plan_phase(wanted, running.range);
}

}  // namespace plimsoll::train

#include <plimsoll/plan/planner.h>

#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "plan/build_plan.h"
#include "plan/recompute_search.h"

namespace plimsoll::plan {
namespace {

using graph::Graph;
using graph::Node;
using graph::Role;
using graph::Value;
using graph::ValueId;

/// True if `scope` is `name` or lies within it.
bool within(const std::string& scope, const std::string& name) {
  return scope.size() >= name.size() && scope.compare(0, name.size(), name) == 0 &&
         (scope.size() == name.size() || scope[name.size()] == '/');
}

std::vector<signed char> pinned_roots(const StepModel& model, const PlanOptions& options) {
  std::vector<signed char> pinned(model.roots.size(), 0);
  const auto pin = [&](const std::vector<std::string>& scopes, signed char how) {
    for (const std::string& name : scopes) {
      bool found = false;
      for (std::size_t r = 0; r < model.roots.size(); ++r) {
        if (model.roots[r].producer < 0) continue;
        const Node& node =
            model.graph->node(model.work[static_cast<std::size_t>(model.roots[r].producer)].node);
        if (node.backward || !within(node.scope, name)) continue;
        pinned[r] = how;
        found = true;
      }
      if (!found) {
        throw InvalidArgument(
            fmt::format("[plan] nothing is computed in '{}'; name a module as the "
                        "graph does",
                        name));
      }
    }
  };
  pin(options.keep, 1);
  pin(options.recompute, -1);
  return pinned;
}

/// What a step takes of the range if it keeps everything that gradients need.
struct KeepingAll {
  Bytes kept = 0;     ///< all at once: inputs, what gradients need, the gradients of parameters
  Bytes passing = 0;  ///< at most beside it: values that come and go, a task's workspace
};

KeepingAll keeping_all(const StepModel& model) {
  const Graph& graph = *model.graph;
  const auto backward = [&](int position) {
    return graph.node(model.work[static_cast<std::size_t>(position)].node).backward;
  };
  KeepingAll all;
  std::vector<Bytes> begins(model.work.size() + 1, 0);
  std::vector<Bytes> ends(model.work.size() + 1, 0);
  for (const Root& root : model.roots) {
    const bool input = root.producer < 0;
    const bool gradient = !input && backward(root.producer);
    // Kept for a gradient; or a parameter's gradient, which what comes after the backward pass
    // reads.
    const bool needed = std::any_of(root.uses.begin(), root.uses.end(),
                                    [&](int use) { return backward(use) != gradient; });
    if (needed || input) {
      all.kept += root.bytes;
      continue;
    }
    begins[static_cast<std::size_t>(root.producer)] += root.bytes;
    const std::size_t last =
        root.output ? model.work.size() : static_cast<std::size_t>(root.last_use) + 1;
    ends[last] += root.bytes;
  }
  Bytes live = 0;
  for (std::size_t t = 0; t < model.work.size(); ++t) {
    live += begins[t];
    live -= ends[t];
    all.passing = std::max(all.passing, live + model.work[t].workspace);
  }
  return all;
}

/// What the largest node takes alone, which every plan must have room for.
Bytes largest_task(const StepModel& model) {
  Bytes most = 0;
  for (const Work& work : model.work) {
    Bytes bytes = work.workspace;
    Bytes shared = 0;
    for (const std::vector<int>* roots : {&work.inputs, &work.outputs}) {
      for (const int r : *roots) bytes += model.roots[static_cast<std::size_t>(r)].bytes;
    }
    for (const auto& [to, from] : work.in_place) {
      shared += model.roots[static_cast<std::size_t>(to)].bytes;
    }
    most = std::max(most, bytes - std::min(bytes, shared));
  }
  return most;
}

/// Times that a plan which cannot be placed is sought again with less.
constexpr int kAttempts = 8;

}  // namespace

struct Planner::State {
  State(std::shared_ptr<const Graph> g, const PlanOptions& o)
      : options(o),
        model(make_step_model(
            std::move(g), o.device,
            {.node_seconds = o.node_seconds, .away = o.away, .host_room = o.host_room})),
        search(model, pinned_roots(model, o)),
        keeping(keeping_all(model)),
        lower_bound(largest_task(model)) {}

  Plan build(const Choice& choice, Bytes budget, const PlanOptions& how) {
    Plan plan = build_plan(model, choice, how, budget, search.keep_all());
    plan.unconstrained_peak = unconstrained_peak();
    return plan;
  }
  Plan build(const Choice& choice, Bytes budget) { return build(choice, budget, options); }

  Bytes kept_bytes() const { return model.persistent_bytes + output_bytes(model) + keeping.kept; }
  Bytes unconstrained_peak() const {
    return kept_bytes() + keeping.passing + options.device.workspace;
  }

  PlanOptions options;
  StepModel model;
  RecomputeSearch search;
  KeepingAll keeping;
  Bytes lower_bound;  ///< no plan's range is smaller
  std::optional<Plan> smallest;
};

std::vector<std::pair<std::string, Bytes>> movable_state_of(const Graph& graph) {
  std::vector<std::pair<std::string, Bytes>> all;
  for (const ValueId v : movable_state(graph)) {
    all.emplace_back(graph.value(v).name, aligned(graph.value(v).type.bytes()));
  }
  return all;
}

Planner::Planner(std::shared_ptr<const Graph> graph, const PlanOptions& options)
    : state_(std::make_unique<State>(std::move(graph), options)) {}
Planner::~Planner() = default;
Planner::Planner(Planner&&) noexcept = default;
Planner& Planner::operator=(Planner&&) noexcept = default;

Bytes Planner::fixed_bytes() const {
  const DeviceDescription& device = state_->options.device;
  return state_->model.persistent_bytes + output_bytes(state_->model) + device.workspace +
         device.runtime;
}

Bytes Planner::least_range() const { return state_->lower_bound; }

Plan Planner::largest() { return state_->build(state_->search.keep_all(), kUnlimited); }

const Plan& Planner::smallest() {
  std::optional<Plan>& known = state_->smallest;
  if (!known) {
    PlanOptions options = state_->options;
    options.placement_time = std::chrono::milliseconds(0);
    known = state_->build(state_->search.smallest(), kUnlimited, options);
    known->budget = known->total();
  }
  return *known;
}

std::optional<Plan> Planner::find(Bytes budget) {
  State& s = *state_;
  if (budget == kUnlimited) return largest();
  const Bytes page = std::max<Bytes>(s.options.device.page_size, 1);
  const Bytes runtime = s.options.device.runtime;
  const Bytes fixed = fixed_bytes() - runtime;
  const Bytes pages = budget < runtime ? 0 : (budget - runtime) / page * page;
  if (pages < fixed || pages - fixed < s.lower_bound) return std::nullopt;
  const Bytes room = pages - fixed;
  Bytes target = room;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Choice choice = s.search.solve(target);
    if (choice.peak > target) break;
    Plan plan = s.build(choice, budget);
    if (plan.range <= room) return plan;
    // What cannot be placed within its peak may be with a lower one.
    const Bytes over = plan.range - room;
    if (target <= over + over / 4) break;
    target -= over + over / 4;
  }
  if (s.search.smallest().peak > room) return std::nullopt;
  if (smallest().range > room) return std::nullopt;
  Plan plan = smallest();
  plan.budget = budget;
  return plan;
}

Plan Planner::plan(Bytes budget) {
  if (std::optional<Plan> found = find(budget)) return std::move(*found);
  const std::string least = format_bytes(smallest().total());
  throw BudgetTooSmall(fmt::format("[plan] a step takes at least {}, the budget is {}; smallest "
                                   "budget for this batch: {}",
                                   least, format_bytes(budget), least),
                       smallest().total());
}

std::vector<CurvePoint> Planner::curve(int points) {
  std::vector<CurvePoint> curve;
  const Plan most = largest();
  const Plan least = state_->build(state_->search.smallest(), kUnlimited);
  curve.push_back({most.total(), most.seconds});
  if (least.total() >= most.total()) return curve;
  for (int i = 1; i + 1 < points; ++i) {
    const double share = static_cast<double>(i) / (points - 1);
    const auto budget =
        most.total() -
        static_cast<Bytes>(share * static_cast<double>(most.total() - least.total()));
    curve.push_back({budget, plan(budget).seconds});
  }
  curve.push_back({least.total(), least.seconds});
  return curve;
}

Bytes Planner::kept_bytes() const { return state_->kept_bytes(); }
Bytes Planner::unconstrained_peak() const { return state_->unconstrained_peak(); }

}  // namespace plimsoll::plan

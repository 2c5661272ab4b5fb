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

}  // namespace

struct Planner::State {
  State(std::shared_ptr<const Graph> g, const PlanOptions& o)
      : options(o),
        model(make_step_model(std::move(g), o.device)),
        search(model, pinned_roots(model, o)) {}

  Plan build(const Choice& choice, Bytes budget) {
    return build_plan(model, choice.keep, options, budget, search.keep_all());
  }

  PlanOptions options;
  StepModel model;
  RecomputeSearch search;
};

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

Plan Planner::largest() { return state_->build(state_->search.keep_all(), kUnlimited); }

Plan Planner::smallest() {
  Plan best = state_->build(state_->search.smallest(), kUnlimited);
  best.budget = best.total();
  return best;
}

Plan Planner::plan(Bytes budget) {
  const Bytes page = std::max<Bytes>(state_->options.device.page_size, 1);
  const DeviceDescription& device = state_->options.device;
  const Bytes fixed =
      state_->model.persistent_bytes + output_bytes(state_->model) + device.workspace;
  const Bytes room = budget == kUnlimited      ? budget
                     : budget < device.runtime ? 0
                                               : (budget - device.runtime) / page * page;
  if (room > fixed) {
    Bytes target = room == kUnlimited ? kUnlimited : room - fixed;
    for (int attempt = 0; attempt < 8; ++attempt) {
      const Choice choice = state_->search.solve(target);
      if (choice.peak > target) break;
      Plan plan = state_->build(choice, budget);
      if (plan.total() <= budget) return plan;
      const Bytes over = plan.range - (room - fixed);
      if (target <= over + over / 4) break;
      target -= over + over / 4;
    }
  }
  const Plan least = smallest();
  if (least.total() <= budget) {
    Plan plan = least;
    plan.budget = budget;
    return plan;
  }
  throw BudgetTooSmall(
      fmt::format("[plan] a step takes at least {}, the budget is {}; smallest "
                  "budget for this batch: {}",
                  format_bytes(least.total()), format_bytes(budget), format_bytes(least.total())));
}

std::vector<CurvePoint> Planner::curve(int points) {
  std::vector<CurvePoint> curve;
  const Plan most = largest();
  const Plan least = smallest();
  curve.push_back({most.total(), most.seconds});
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

Bytes Planner::unconstrained_peak() const {
  const StepModel& model = state_->model;
  const Graph& graph = *model.graph;
  Bytes bytes = model.persistent_bytes + output_bytes(model);
  for (const Root& root : model.roots) {
    const bool input = root.producer < 0;
    const bool forward =
        input || !graph.node(model.work[static_cast<std::size_t>(root.producer)].node).backward;
    bool needed = false;
    for (const int use : root.uses) {
      const Node& reader = graph.node(model.work[static_cast<std::size_t>(use)].node);
      // Kept for a gradient; or a gradient of a parameter, read by its update.
      needed = needed || (forward && reader.backward) ||
               (!forward && !reader.backward && reader.op->writes != 0);
    }
    if (needed || input) bytes += root.bytes;
  }
  return bytes;
}

}  // namespace plimsoll::plan

#include "plan/step_model.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/kernel.h>

#include "plan/launch_seconds.h"
#include "plan/op_seconds.h"
#include "plan/predicted_time.h"
#include "plan/shared_launches.h"

namespace plimsoll::plan {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::NodeId;
using graph::Role;
using graph::Value;
using graph::ValueId;

void add_once(std::vector<int>& list, int item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

/// A copy takes so long whatever its size.
constexpr double kCopyLatency = 10e-6;

struct Expense {
  double seconds = 0;
  double tf32_saves = 0;
  Bytes workspace = 0;
};

Expense expense_of(const Graph& graph, const Node& node, const DeviceDescription& device) {
  const auto [in, out] = types_of(graph, node);
  const ops::OpInputs inputs(*node.op, in, node.attributes);
  Expense expense{.seconds = predicted_seconds(node, {in, out}, device)};
  expense.tf32_saves = tf32_saves(inputs, out, device);
  if (device.capabilities.gpu_kernels) {
    // The slot stands apart; only what does not fit it has a place of its own.
    const Bytes wanted = node.op->workspace == nullptr ? 0 : node.op->workspace(inputs, out);
    if (wanted > ops::kWorkspaceSlot - ops::kWorkspaceReserve) expense.workspace = aligned(wanted);
    return expense;
  }
  const ops::Kernel* kernel = ops::kernels_of(device.backend).find(*node.op);
  if (kernel != nullptr && kernel->prepare != nullptr) {
    const auto state = kernel->prepare(inputs, out);
    if (state != nullptr) expense.workspace = aligned(state->workspace);
  }
  return expense;
}

/// By value id. Throws InvalidArgument.
std::vector<bool> away_values(const Graph& graph, const std::vector<std::string>& names) {
  std::vector<bool> away(graph.values().size(), false);
  if (names.empty()) return away;
  const std::set<std::string> wanted(names.begin(), names.end());
  for (const ValueId v : movable_state(graph)) {
    away[static_cast<std::size_t>(v)] = wanted.count(graph.value(v).name) != 0;
  }
  // The parts of a batch that do not update know of the state, and leave it alone.
  for (const Node& node : graph.nodes()) {
    for (const ValueId v : node.inputs) {
      const Value& value = graph.value(graph.value(v).memory);
      if (value.role == Role::computed || wanted.count(value.name) == 0 ||
          away[static_cast<std::size_t>(graph.value(v).memory)]) {
        continue;
      }
      throw InvalidArgument(
          fmt::format("[plan] {} cannot be in the host's memory between steps: only an optimizer's "
                      "state can, which one node reads and writes, from {} on",
                      value.name, format_bytes(kLeastMoved)));
    }
  }
  return away;
}

void find_gap_in(Root& root, int first_backward) {
  const int born = std::max(root.producer, 0);
  root.last_use = root.uses.empty() ? born : root.uses.back();
  root.drop_after = root.last_use;
  if (born >= first_backward) return;
  root.drop_after = born;
  for (const int use : root.uses) {
    if (use < first_backward) root.drop_after = use;
  }
}

}  // namespace

double StepModel::copy_seconds(Bytes bytes, bool described) const {
  return kCopyLatency +
         static_cast<double>(bytes) / (described ? host_bytes_per_second : measured_copy_rate);
}

std::vector<ValueId> movable_state(const Graph& graph) {
  std::vector<int> readers(graph.values().size(), 0);
  std::vector<bool> movable(graph.values().size(), false);
  for (std::size_t v = 0; v < graph.values().size(); ++v) {
    const Value& value = graph.values()[v];
    movable[v] = value.role == Role::state && value.tag == Tag::optimizer &&
                 value.type.bytes() >= kLeastMoved;
  }
  for (const Node& node : graph.nodes()) {
    for (const ValueId v : node.inputs) ++readers[static_cast<std::size_t>(graph.value(v).memory)];
  }
  for (const ValueId v : graph.outputs()) {
    movable[static_cast<std::size_t>(graph.value(v).memory)] = false;
  }
  std::vector<ValueId> found;
  for (const NodeId id : base_order(graph)) {
    const Node& node = graph.node(id);
    for (const ValueId v : node.outputs) {
      const auto memory = static_cast<std::size_t>(graph.value(v).memory);
      if (movable[memory] && readers[memory] == 1 && !node.op->view) {
        found.push_back(static_cast<ValueId>(memory));
      }
    }
  }
  return found;
}

StepModel make_step_model(std::shared_ptr<const Graph> graph, const DeviceDescription& device,
                          const StepModelOptions& options) {
  StepModel model;
  model.graph = std::move(graph);
  model.device = device;
  model.host_room = options.host_room;
  model.host_bytes_per_second = std::max(device.host_bytes_per_second, 1.0);
  model.measured_copy_rate =
      device.measured_copy_rate > 0 ? device.measured_copy_rate : model.host_bytes_per_second;
  model.bytes_per_second = device.bytes_per_second;
  const Graph& g = *model.graph;
  const std::vector<bool> away = away_values(g, options.away);
  const std::vector<double>& measured = options.node_seconds;
  model.root_of.assign(g.values().size(), -1);
  std::vector<bool> used(g.values().size(), false);
  for (const Node& node : g.nodes()) {
    for (const ValueId v : node.inputs) {
      used[static_cast<std::size_t>(g.value(v).memory)] = true;
    }
  }
  for (const ValueId v : g.outputs()) used[static_cast<std::size_t>(g.value(v).memory)] = true;

  for (std::size_t v = 0; v < g.values().size(); ++v) {
    const Value& value = g.values()[v];
    if (value.memory != static_cast<ValueId>(v)) continue;
    const bool computed = value.role == Role::computed && value.producer != kNone;
    if (computed || (value.role == Role::input && used[v])) {
      model.root_of[v] = static_cast<int>(model.roots.size());
      model.roots.push_back(
          {.value = static_cast<ValueId>(v), .bytes = aligned(value.type.bytes())});
    } else if (away[v]) {
      model.root_of[v] = static_cast<int>(model.roots.size());
      model.roots.push_back(
          {.value = static_cast<ValueId>(v), .bytes = aligned(value.type.bytes()), .state = true});
      model.away_bytes += model.roots.back().bytes;
    } else if (value.role != Role::input && value.role != Role::computed && used[v]) {
      model.persistent.push_back(static_cast<ValueId>(v));
      model.persistent_bytes += aligned(value.type.bytes());
    }
  }
  const auto root_of = [&](ValueId v) {
    return model.root_of[static_cast<std::size_t>(g.value(v).memory)];
  };
  for (std::size_t v = 0; v < g.values().size(); ++v) {
    model.root_of[v] = root_of(static_cast<ValueId>(v));
  }

  for (const NodeId id : base_order(g)) {
    const Node& node = g.node(id);
    if (node.op->view) continue;
    const int position = static_cast<int>(model.work.size());
    Work work{.node = id};
    const Expense expense = expense_of(g, node, device);
    const auto at = static_cast<std::size_t>(id);
    work.seconds = at < measured.size() && measured[at] > 0 ? measured[at] : expense.seconds;
    work.tf32_saves = std::min(expense.tf32_saves, work.seconds);
    work.workspace = expense.workspace;
    for (const ValueId v : node.inputs) {
      const int root = root_of(v);
      if (root < 0) {
        add_once(work.reads_state, g.value(v).memory);
      } else {
        add_once(work.inputs, root);
      }
    }
    for (const ValueId v : node.outputs) {
      const int root = root_of(v);
      if (root < 0) {
        add_once(work.writes_state, g.value(v).memory);
        continue;
      }
      Root& made = model.roots[static_cast<std::size_t>(root)];
      if (made.state) continue;  // written where it is read
      work.outputs.push_back(root);
      made.producer = position;
      made.droppable = node.op->writes == 0;
    }
    for (const ops::InPlace& pair : node.op->in_place) {
      if (static_cast<std::size_t>(pair.input) >= node.inputs.size() ||
          static_cast<std::size_t>(pair.output) >= node.outputs.size()) {
        continue;
      }
      const ValueId from = node.inputs[static_cast<std::size_t>(pair.input)];
      const ValueId to = node.outputs[static_cast<std::size_t>(pair.output)];
      if (root_of(from) >= 0 && root_of(to) >= 0 && g.value(from).type == g.value(to).type) {
        work.in_place.emplace_back(root_of(to), root_of(from));
      }
    }
    for (const int root : work.inputs) {
      model.roots[static_cast<std::size_t>(root)].uses.push_back(position);
    }
    model.work.push_back(std::move(work));
  }
  for (const ValueId v : g.outputs()) {
    if (root_of(v) >= 0) model.roots[static_cast<std::size_t>(root_of(v))].output = true;
  }
  while (model.first_backward < static_cast<int>(model.work.size()) &&
         !g.node(model.work[static_cast<std::size_t>(model.first_backward)].node).backward) {
    ++model.first_backward;
  }
  for (Root& root : model.roots) find_gap_in(root, model.first_backward);
  if (fuses(device)) find_joinings(model);
  return model;
}

}  // namespace plimsoll::plan

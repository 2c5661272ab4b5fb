#if PLIMSOLL_HAS_CUDNN

#include "backend/cuda/libraries/cudnn_graph.h"

#include <algorithm>
#include <utility>

#include <plimsoll/base/error.h>
#include <plimsoll/base/log.h>

namespace plimsoll::cuda {
namespace {

/// Whether the device failed, or its memory ran out, rather than that there is no plan.
bool is_fault(fe::error_object status) {
  switch (status.get_code()) {
    case fe::error_code_t::CUDA_API_FAILED:
    case fe::error_code_t::HANDLE_ERROR:
    case fe::error_code_t::INVALID_CUDA_DEVICE:
      return true;
    default:  // the library's own statuses are in the message only
      return status.get_message().find("ALLOC") != std::string::npos;
  }
}

/// Whether there is no plan, by a step of making one. A fault is thrown: other kernels than on a
/// device that works would give other bits.
bool failed(fe::error_object status) {
  if (status.is_good()) return false;
  if (is_fault(status)) {
    throw DeviceError("[cudnn] " + status.get_message() +
                      "; is the device's memory used up by others?");
  }
  log_debug("[cudnn] no plan: " + status.get_message());
  return true;
}

/// Builds the plan of that name. From the list of those that the library proposes, as the frontend
/// (1.15) cannot make all of them from an engine and its knobs: it does not know some knobs.
fe::error_t build_named(fe::graph::Graph& graph, cudnnHandle_t handle, const std::string& wanted) {
  for (std::int64_t i = 0; i < graph.get_execution_plan_count(); ++i) {
    std::string name;
    if (graph.get_plan_name_at_index(i, name).is_good() && name == wanted) {
      return graph.build_plan_at_index(handle, i);
    }
  }
  return {fe::error_code_t::GRAPH_EXECUTION_PLAN_CREATION_FAILED, "none is called " + wanted};
}

/// The names of the first plans that the library proposes.
std::vector<std::string> proposed(fe::graph::Graph& graph) {
  std::vector<std::string> names;
  const auto most = static_cast<std::int64_t>(ChoiceTable::kMostOffered);
  for (std::int64_t i = 0; i < std::min(most, graph.get_execution_plan_count()); ++i) {
    std::string name;
    if (graph.get_plan_name_at_index(i, name).is_good() && !name.empty()) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

/// "cuDNN 9.19.0"
std::string library_name() {
  const std::size_t version = fe::detail::get_backend_version();
  return "cuDNN " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
         "." + std::to_string(version % 100);
}

}  // namespace

fe::DataType_t cudnn_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return fe::DataType_t::FLOAT;
    case DType::f16:
      return fe::DataType_t::HALF;
    case DType::bf16:
      return fe::DataType_t::BFLOAT16;
    default:
      throw InternalError("[cudnn] no graph of " + std::string(dtype_name(dtype)));
  }
}

std::optional<GraphPlan> build_graph(fe::graph::Graph& graph, const CudnnTarget& target,
                                     const PlanBounds& bounds,
                                     const std::vector<fe::NumericalNote_t>& without,
                                     const std::string& only) {
  if (target.described != nullptr) graph.set_device_properties(target.described);
  if (failed(graph.validate())) return std::nullopt;
  if (failed(graph.build_operation_graph(target.handle))) return std::nullopt;
  if (failed(graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}))) {
    return std::nullopt;
  }
  if (bounds.matrix_units) graph.select_numeric_notes({fe::NumericalNote_t::TENSOR_CORE});
  if (!without.empty()) graph.deselect_numeric_notes(without);
  graph.deselect_workspace_greater_than(static_cast<std::int64_t>(bounds.offered));
  if (failed(graph.check_support(target.handle))) return std::nullopt;
  if (failed(only.empty()
                 ? graph.build_plans(target.handle, fe::BuildPlanPolicy_t::HEURISTICS_CHOICE)
                 : build_named(graph, target.handle, only))) {
    return std::nullopt;
  }
  std::int64_t bytes = 0;
  if (failed(graph.get_workspace_size(bytes)) || bytes < 0) return std::nullopt;
  if (static_cast<Bytes>(bytes) > bounds.limit) return std::nullopt;
  GraphPlan plan;
  plan.workspace = static_cast<Bytes>(bytes);
  if (graph.get_plan_name(plan.name).is_bad()) plan.name.clear();
  const bool repeatable =
      std::ranges::find(without, fe::NumericalNote_t::NONDETERMINISTIC) != without.end();
  if (only.empty() && repeatable) plan.others = proposed(graph);
  return plan;
}

std::optional<GraphPlan> choose_graph(
    ChoiceTable& choices, const std::string& key,
    const std::function<std::optional<GraphPlan>(const std::string& only)>& make) {
  const std::string library = library_name() + " ";
  const std::string none = "none";
  if (const auto text = choices.preferred(key)) {
    std::string why = "this is " + library_name();
    if (text->starts_with(library)) {
      const std::string name = text->substr(library.size());
      std::optional<GraphPlan> plan;
      if (name != none && !name.empty()) plan = make(name);
      if (plan || name == none) {
        choices.took(key, *text);
        return plan;
      }
      why = library_name() + " has no such plan here";
    }
    choices.give_up(key, why);
  }
  std::optional<GraphPlan> plan = make({});
  const std::string name = plan ? plan->name : none;
  if (!name.empty()) choices.took(key, library + name);
  if (plan && !name.empty() && choices.exploring()) {
    std::vector<std::string> others;
    for (const std::string& other : plan->others) others.push_back(library + other);
    choices.offer(key, others);
  }
  return plan;
}

void run_graph(const fe::graph::Graph& graph, cudnnHandle_t handle,
               std::unordered_map<std::int64_t, void*>& pack, void* workspace, const char* who) {
  auto status = graph.execute(handle, pack, workspace);
  if (status.is_good()) return;
  throw DeviceError("[" + std::string(who) + "] cuDNN: " + status.get_message());
}

}  // namespace plimsoll::cuda

#endif

#if PLIMSOLL_HAS_CUDNN

#include "backend/cuda/libraries/cudnn_graph.h"

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

std::optional<Bytes> build_graph(fe::graph::Graph& graph, cudnnHandle_t handle, Bytes limit,
                                 const std::vector<fe::NumericalNote_t>& without) {
  if (failed(graph.validate())) return std::nullopt;
  if (failed(graph.build_operation_graph(handle))) return std::nullopt;
  if (failed(graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}))) {
    return std::nullopt;
  }
  if (!without.empty()) graph.deselect_numeric_notes(without);
  graph.deselect_workspace_greater_than(static_cast<std::int64_t>(limit));
  if (failed(graph.check_support(handle))) return std::nullopt;
  if (failed(graph.build_plans(handle, fe::BuildPlanPolicy_t::HEURISTICS_CHOICE))) {
    return std::nullopt;
  }
  std::int64_t bytes = 0;
  if (failed(graph.get_workspace_size(bytes)) || bytes < 0) return std::nullopt;
  if (static_cast<Bytes>(bytes) > limit) return std::nullopt;
  return static_cast<Bytes>(bytes);
}

void run_graph(const fe::graph::Graph& graph, cudnnHandle_t handle,
               std::unordered_map<std::int64_t, void*>& pack, void* workspace, const char* who) {
  auto status = graph.execute(handle, pack, workspace);
  if (status.is_good()) return;
  throw DeviceError("[" + std::string(who) + "] cuDNN: " + status.get_message());
}

}  // namespace plimsoll::cuda

#endif

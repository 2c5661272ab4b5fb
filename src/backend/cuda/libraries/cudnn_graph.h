#pragma once

// What graphs of cuDNN share. Only for sources that PLIMSOLL_HAS_CUDNN allows.

#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/dtype.h>
#include <plimsoll/device/choice_table.h>

#include "backend/cuda/libraries/plan_bounds.h"

namespace plimsoll::cuda {

namespace fe = cudnn_frontend;

/// What a graph is planned for: the device of a handle, or one that is only described, for which no
/// GPU is needed (cuDNN 9.8 and later). A plan for a description says what the library would do,
/// and cannot run.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  std::shared_ptr<const fe::DeviceProperties> described = nullptr;
};

struct GraphPlan {
  Bytes workspace = 0;
  /// The engine and its knobs, as the library calls them: "eng46_k2=2_k3=0". Empty if it does not
  /// say.
  std::string name;
  /// Others that the library proposes, in its order, some of which may not be had; only where the
  /// caller rules out what is not deterministic, and named none.
  std::vector<std::string> others;
};

/// f32, f16 or bf16. InternalError for others.
fe::DataType_t cudnn_type(DType dtype);

/// Chooses the library's first plan within `bounds` that has none of the notes `without`, or takes
/// the one of the name `only`, and builds it. Nothing where there is none: what does not exist here
/// may be computed otherwise.
std::optional<GraphPlan> build_graph(fe::graph::Graph& graph, const CudnnTarget& target,
                                     const PlanBounds& bounds,
                                     const std::vector<fe::NumericalNote_t>& without,
                                     const std::string& only = {});

/// A plan by `make`, which builds a new graph with the plan of that name (see build_graph): the one
/// that is preferred for `key`, where it can be had, else the library's first. `choices` keeps
/// which it was, also that there is none, and is offered the others while alternatives are
/// measured.
std::optional<GraphPlan> choose_graph(
    ChoiceTable& choices, const std::string& key,
    const std::function<std::optional<GraphPlan>(const std::string& only)>& make);

/// Throws DeviceError naming `who`.
void run_graph(const fe::graph::Graph& graph, cudnnHandle_t handle,
               std::unordered_map<std::int64_t, void*>& pack, void* workspace, const char* who);

}  // namespace plimsoll::cuda

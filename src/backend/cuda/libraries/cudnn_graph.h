#pragma once

// What graphs of cuDNN share. Only for sources that PLIMSOLL_HAS_CUDNN allows.

#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

#include <optional>
#include <unordered_map>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/dtype.h>

namespace plimsoll::cuda {

namespace fe = cudnn_frontend;

/// f32, f16 or bf16. InternalError for others.
fe::DataType_t cudnn_type(DType dtype);

/// Chooses the library's first plan within `limit` bytes of workspace that has none of the notes
/// `without`, and builds it. Its bytes, or nothing where there is none: what does not exist here
/// may be computed otherwise.
std::optional<Bytes> build_graph(fe::graph::Graph& graph, cudnnHandle_t handle, Bytes limit,
                                 const std::vector<fe::NumericalNote_t>& without);

/// Throws DeviceError naming `who`.
void run_graph(const fe::graph::Graph& graph, cudnnHandle_t handle,
               std::unordered_map<std::int64_t, void*>& pack, void* workspace, const char* who);

}  // namespace plimsoll::cuda

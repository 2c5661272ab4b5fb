#pragma once

// What cuDNN is asked for a convolution. Only for sources that PLIMSOLL_HAS_CUDNN allows.

#include "backend/cuda/kernels/convolution.h"
#include "backend/cuda/libraries/cudnn_graph.h"

namespace plimsoll::cuda {

/// The arrays of a convolution's graph.
enum ConvUid : std::int64_t { kConvX = 1, kConvW, kConvY, kConvBias };

/// Describes the convolution in `graph`, which is empty, and chooses a plan for it: deterministic,
/// computed in f32, within those bounds, and of the name `only` if there is one (see build_graph).
/// Nothing where the library has none.
std::optional<GraphPlan> plan_conv(const ConvSpec& spec, const CudnnTarget& target,
                                   const PlanBounds& bounds, fe::graph::Graph& graph,
                                   const std::string& only = {});

}  // namespace plimsoll::cuda

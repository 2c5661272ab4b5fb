#pragma once

#include <algorithm>
#include <vector>

#include <plimsoll/ops/kernel.h>

#include "backend/cuda/kernels/convolution.h"

namespace plimsoll::cuda {

/// What the library is asked for a convolution that its route gives it.
struct ConvRequest {
  std::vector<ConvSpec> parts;  ///< of the batch, one after another, each with a plan of its own
  Bytes limit = 0;              ///< of the workspace of any of them
  bool adds_bias = false;       ///< after the convolution, which has none
};

/// In the order in which they are tried, until there is a plan for all parts of one. A pure
/// function.
inline std::vector<ConvRequest> library_requests(const ConvSpec& spec,
                                                 const ops::ConvRoute& route) {
  const Bytes slot = ops::kWorkspaceSlot - ops::kWorkspaceReserve;
  ConvRequest whole{.limit = std::max(route.workspace, slot) - route.weight - route.sums};
  for (std::int64_t i = 0; i < route.parts; ++i) {
    whole.parts.push_back(spec);
    whole.parts.back().shape.n = ops::conv_pictures(spec.shape, route.parts, i, route.unit);
  }
  // Sums in f32 lose nothing by being stored before the bias is added.
  if (!spec.bias || spec.dtype != DType::f32) return {whole};
  ConvRequest bare = whole;
  bare.adds_bias = true;
  for (ConvSpec& part : bare.parts) part.bias = false;
  return {whole, bare};
}

}  // namespace plimsoll::cuda

#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <plimsoll/ops/kernel.h>

#include "backend/cuda/kernels/convolution.h"

namespace plimsoll::cuda {

/// What the library is asked for a convolution that its route gives it.
struct ConvRequest {
  std::vector<ConvSpec> parts;  ///< of the batch, one after another, each with a plan of its own
  PlanBounds bounds{0};         ///< of any of them
  bool adds_bias = false;       ///< after the convolution, which has none
};

/// Whether arithmetic takes so much longer than memory that only matrix units will do: now and then
/// the library's first choice has none, and takes 10 times as long.
inline bool wants_matrix_units(const ConvSpec& spec) {
  constexpr double kWorthAsking = 5e7;
  constexpr double kPerByte = 50;
  if (spec.dtype == DType::f32 && !spec.tf32) return false;
  const ops::ConvShape& s = spec.shape;
  const double elements = static_cast<double>(s.in_shape().elements()) +
                          static_cast<double>(s.out_shape().elements()) +
                          static_cast<double>(s.weight_shape().elements());
  const double bytes = elements * static_cast<double>(dtype_size(spec.dtype));
  return s.flops() >= std::max(kWorthAsking, kPerByte * bytes);
}

/// In the order in which they are tried, until there is a plan for all parts of one. A pure
/// function.
///
/// What the library takes for the fastest serves where it fits the limit. Where it does not, what
/// is left within the limit can be many times slower, most of all where it has no matrix units: so
/// parts of the batch are tried before plans without them.
inline std::vector<ConvRequest> library_requests(const ConvSpec& spec,
                                                 const ops::ConvRoute& route) {
  const Bytes slot = ops::kWorkspaceSlot - ops::kWorkspaceReserve;
  const Bytes limit = std::max(route.workspace, slot) - route.weight - route.sums;
  const std::int64_t unit = ops::conv_unit(spec.shape, spec.dtype);
  const std::int64_t units = (spec.shape.n + unit - 1) / unit;
  std::vector<ConvRequest> requests;
  const auto ask = [&](std::int64_t parts, Bytes offered, bool matrix_units) {
    ConvRequest request{.bounds = {limit, offered, matrix_units}};
    for (std::int64_t i = 0; i < parts; ++i) {
      request.parts.push_back(spec);
      request.parts.back().shape.n = ops::conv_pictures(spec.shape, parts, i, unit);
    }
    requests.push_back(std::move(request));
  };
  // Parts of a gradient by the weight are summed, where there is room for sums.
  const bool one = spec.pass == ConvPass::by_weight && route.sums == 0;
  const auto ask_parts = [&](std::int64_t first, std::int64_t most, bool matrix_units) {
    most = one ? 1 : std::min(units, std::max(most, 4 * route.parts));
    for (std::int64_t parts = first; parts <= most; parts *= 2) {
      ask(parts, kAnyWorkspace, matrix_units);
    }
  };
  const bool full = spec.dtype == DType::f32 && !spec.tf32;
  const bool wants = wants_matrix_units(spec);
  ask(1, kAnyWorkspace, wants);
  if (!full) {
    if (route.parts == 1) ask(1, limit, true);
    ask_parts(2, 4, true);
    if (route.parts > 1) ask(route.parts, limit, true);
  }
  // Many parts are worth it only where there is nothing with matrix units.
  if (!full || route.parts > 1) ask_parts(wants ? 1 : 2, 16, false);
  ask(route.parts, limit, false);
  // Sums in f32 lose nothing by being stored before the bias is added.
  if (!spec.bias || spec.dtype != DType::f32) return requests;
  ConvRequest bare = requests.back();
  bare.adds_bias = true;
  for (ConvSpec& part : bare.parts) part.bias = false;
  requests.push_back(bare);
  return requests;
}

}  // namespace plimsoll::cuda

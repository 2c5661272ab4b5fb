#pragma once

#include <optional>
#include <string>

#include <plimsoll/ops/op_def.h>

namespace plimsoll::ops {

/// Plain kernels, which a GPU falls back to where no fast ones take a dtype or a shape.
struct SlowPath {
  std::string reason;  ///< "plain kernels: no library computes convolutions in f64"
  std::string remedy;  ///< "use f32"
  /// Operations that they do in the time in which the device moves a byte of its memory.
  double flops_per_byte = 1;
};

/// Whether a GPU computes such a call by plain kernels, as far as dtypes and shapes decide it: a
/// function of these alone, so that plans and kernels agree with or without a GPU. nullopt: fast
/// kernels take it, or the op has no slow ones.
std::optional<SlowPath> slow_path(const OpInputs& inputs, std::span<const TensorType> outputs);

}  // namespace plimsoll::ops

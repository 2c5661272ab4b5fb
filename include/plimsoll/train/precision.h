#pragma once

#include <optional>
#include <string>

#include <plimsoll/base/dtype.h>
#include <plimsoll/train/loss_scale.h>

namespace plimsoll {
// So that {.precision = pm::bf16} reads like that.
using DType::bf16;
using DType::f16;
using DType::f32;
}  // namespace plimsoll

namespace plimsoll::train {

/// In which dtype a model computes. Parameters and optimizer state are f32 in any case; what an op
/// does under a 16-bit policy is its OpDef::precision, see docs/precision.md.
struct Precision {
  /// f32, bf16 or f16, the last with dynamic loss scaling; else InvalidArgument.
  Precision(DType compute = DType::f32);  // NOLINT: {.precision = pm::bf16} should read like that

  /// "f32", "bf16", "f16".
  static Precision parse(const std::string& text);

  DType compute = DType::f32;
  std::optional<LossScaleOptions> loss_scale;
};

}  // namespace plimsoll::train

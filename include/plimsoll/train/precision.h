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

/// Names the policy of that name; see Precision.
struct Tf32 {};

/// In which dtype a model computes. Parameters and optimizer state are f32 in any case; what an op
/// does under a 16-bit policy is its OpDef::precision, see docs/precision.md.
struct Precision {
  /// f32, bf16 or f16, the last with dynamic loss scaling; else InvalidArgument.
  Precision(DType compute = DType::f32);  // NOLINT: {.precision = pm::bf16} should read like that

  /// f32, but the factors of products, convolutions and attention may be rounded to TF32 on a GPU
  /// that has it: a mantissa of 10 bits, an exponent of 8, sums in f32. Elsewhere it is f32.
  Precision(Tf32);  // NOLINT: as above

  /// "f32", "tf32", "bf16", "f16".
  static Precision parse(const std::string& text);
  /// As parse() takes it.
  std::string name() const;

  DType compute = DType::f32;
  bool tf32 = false;
  std::optional<LossScaleOptions> loss_scale;
};

}  // namespace plimsoll::train

namespace plimsoll {
/// {.precision = pm::tf32}
inline constexpr train::Tf32 tf32;
}  // namespace plimsoll

#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <plimsoll/ops/op_def.h>

namespace plimsoll::ops {

/// One of several calls in a row: types, no data.
struct FusedCall {
  const OpDef& op;
  const Attributes& attributes;
  std::span<const TensorType> inputs;
  std::span<const TensorType> outputs;
  /// The input that is output 0 of the call before it; -1 if none is, or several.
  int chained = -1;
};

/// Calls in a row that one launch may stand for, on a backend that has a kernel for it. What such a
/// kernel gives is bit for bit what the calls give one after another, intermediate values rounded
/// as ever; so whether calls are fused may depend on where a plan has put what.
struct FusedPattern {
  std::string_view name;
  /// Two calls, of which the second reads output 0 of the first. A kernel for it reads a row of
  /// every input before it writes that row, so that an output of the second may lie exactly on what
  /// the first reads, if both have the same dtype. Only the first may need workspace.
  ///
  /// Else: any number from two on that have nothing to do with each other and need no workspace.
  bool chain = false;
  /// Whether `call` can come next in a group; its first, if that has none yet.
  bool (*joins)(std::span<const FusedCall> group, const FusedCall& call) = nullptr;
};

/// All of them: "add, norm", "norm_grad, add", "updates", "casts".
std::span<const FusedPattern> fused_patterns();
/// Null if there is none of that name.
const FusedPattern* find_fused(std::string_view name);

/// Updates and casts of more elements than this are worth a launch of their own.
inline constexpr std::int64_t kSmallTensor = std::int64_t{1} << 16;

}  // namespace plimsoll::ops

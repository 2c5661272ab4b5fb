#pragma once

#include <span>
#include <vector>

#include <plimsoll/data/spec.h>
#include <plimsoll/ops/op_def.h>

namespace plimsoll::data {

/// What `op` gives for inputs of these specs. Its rule knows extents only as numbers, so it is
/// asked with two stand-ins for the unknown ones: what differs is unknown. Where the rule refuses
/// any extent but one (of `[?]` and `[224]` that are added, the first has 224 or 1), that one is
/// found among the numbers at hand. InvalidArgument, as the rule says it, where no extent does.
std::vector<TensorSpec> infer_specs(const ops::OpDef& op, std::span<const TensorSpec> inputs,
                                    const ops::Attributes& attributes);

/// Attributes that ops on tensors take as numbers and programs may leave open until extents are
/// known: an extent of -1 of `reshape`; positions of `slice` below 0 or at the end.
bool is_open(const ops::OpDef& op, const ops::Attributes& attributes);
/// The attributes as the op's rule takes them.
ops::Attributes closed(const ops::OpDef& op, const ops::Attributes& attributes,
                       std::span<const TensorType> inputs);

}  // namespace plimsoll::data

#pragma once

#include <plimsoll/ops/kernel.h>

namespace plimsoll::backend {

/// Inputs that an attention op may have from input `i` on: a mask of keys, and behind it the
/// gradient by the sums.
struct AttentionExtras {
  const bool* mask = nullptr;
  const void* d_log_sums = nullptr;

  AttentionExtras(const ops::KernelContext& k, int i) {
    const auto given = static_cast<int>(k.inputs.size());
    if (given > i && k.in(i).dtype() == DType::boolean) mask = k.in(i++).as<const bool>();
    if (given > i) d_log_sums = k.in(i).data;
  }
};

}  // namespace plimsoll::backend

#pragma once

#include <plimsoll/ops/convolution_shape.h>

#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {

struct PoolState final : ops::KernelState {
  explicit PoolState(const ops::ConvShape& of) : shape(of) {}
  ops::ConvShape shape;
};

inline const ops::ConvShape& pool_of(const KernelContext& k) {
  return static_cast<const PoolState&>(*k.state).shape;
}

}  // namespace plimsoll::cpu

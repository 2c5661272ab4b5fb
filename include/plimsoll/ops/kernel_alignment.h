#pragma once

#include <cstdint>

#include <plimsoll/tensor/tensor.h>

// Where kernels of a GPU, which move words of 16 bytes, can read and write. Views may begin
// anywhere.

namespace plimsoll::ops {

inline constexpr std::uintptr_t kKernelAlignment = 16;

inline bool suits_kernels(const Tensor& tensor) {
  return tensor.device().kind() == DeviceKind::cpu || tensor.elements() == 0 ||
         reinterpret_cast<std::uintptr_t>(tensor.raw_data()) % kKernelAlignment == 0;
}
/// The same values where kernels can read them.
inline Tensor placed_for_kernels(const Tensor& tensor) {
  if (suits_kernels(tensor)) return tensor;
  return tensor.clone(tensor.device(), {.tag = Tag::activations, .label = "aligned"});
}

}  // namespace plimsoll::ops

#pragma once

#include <cstdint>

#include <plimsoll/tensor/tensor.h>

// Where kernels can read and write: those of a GPU move words of 16 bytes. Views may begin
// anywhere.

namespace plimsoll::ops {

inline bool suits_kernels(const Tensor& tensor) {
  const std::uintptr_t alignment = tensor.device().capabilities().kernel_alignment;
  return alignment == 1 || tensor.elements() == 0 ||
         reinterpret_cast<std::uintptr_t>(tensor.raw_data()) % alignment == 0;
}
/// The same values where kernels can read them.
inline Tensor placed_for_kernels(const Tensor& tensor) {
  if (suits_kernels(tensor)) return tensor;
  return tensor.clone(tensor.device(), {.tag = Tag::activations, .label = "aligned"});
}

}  // namespace plimsoll::ops

#pragma once

#include <cstdint>

namespace plimsoll {

/// What the devices of a backend can do, as far as the layers above ask. Code asks for what it
/// needs and never which backend it is, so that another backend changes none of it.
struct Capabilities {
  /// The host reads and writes the device's memory through its pointers.
  bool host_memory = false;
  /// Work is submitted to streams and runs while the host goes on.
  bool asynchronous = false;
  /// Convolutions are fastest on pictures whose channels come last.
  bool channels_last = false;
  /// Kernels are those that ops describe for GPUs: they follow the routes of ops (product_shape.h,
  /// attention_route.h, convolution_route.h), take scratch from a slot of ops::kWorkspaceSlot or as
  /// OpDef::workspace says, and read the random key from the slot's end. So plans know their
  /// scratch and time without the device. Where this is false, kernels say what scratch they need
  /// when they are prepared, and plans ask them.
  bool gpu_kernels = false;
  /// Where kernels can read and write: at multiples of so many bytes.
  std::uintptr_t kernel_alignment = 1;
  /// The DLDeviceType of DLPack; 0 where it has none.
  int dlpack_type = 0;
};

}  // namespace plimsoll

#pragma once

#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include <plimsoll/ops/kernel.h>

namespace plimsoll::ops {

/// What kernels prepared for the signatures used last. For one thread.
class KernelCache {
 public:
  explicit KernelCache(std::size_t capacity) : capacity_(capacity) {}

  /// What `kernel` prepares for this signature; null if it prepares nothing.
  std::shared_ptr<const KernelState> get(const Kernel& kernel, const OpInputs& inputs,
                                         std::span<const TensorType> outputs);

 private:
  struct Entry {
    const Kernel* kernel;
    std::vector<TensorType> inputs;
    Attributes attributes;
    std::shared_ptr<const KernelState> state;
    std::size_t hash;
  };
  std::size_t capacity_;
  std::list<Entry> entries_;  ///< used last first
  std::unordered_multimap<std::size_t, std::list<Entry>::iterator> index_;
};

}  // namespace plimsoll::ops

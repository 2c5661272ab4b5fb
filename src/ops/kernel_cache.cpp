#include "ops/kernel_cache.h"

#include <algorithm>
#include <functional>

namespace plimsoll::ops {
namespace {

std::size_t hash_of_call(const Kernel& kernel, const OpInputs& inputs) {
  std::size_t h = std::hash<const void*>()(&kernel) ^ inputs.attributes().hash();
  const auto add = [&h](std::uint64_t value) {
    h = (h ^ value) * 0x9e3779b97f4a7c15ULL + (h >> 7);
  };
  for (const TensorType& type : inputs.types()) {
    add(static_cast<std::uint64_t>(type.dtype) + 16);
    for (const std::int64_t extent : type.shape) add(static_cast<std::uint64_t>(extent));
  }
  return h;
}

}  // namespace

std::shared_ptr<const KernelState> KernelCache::get(const Kernel& kernel, const OpInputs& inputs,
                                                    std::span<const TensorType> outputs) {
  if (kernel.prepare == nullptr) return nullptr;
  const std::size_t hash = hash_of_call(kernel, inputs);
  const auto [begin, end] = index_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Entry& entry = *it->second;
    if (entry.kernel == &kernel && entry.attributes == inputs.attributes() &&
        std::ranges::equal(entry.inputs, inputs.types())) {
      entries_.splice(entries_.begin(), entries_, it->second);
      return entry.state;
    }
  }
  auto state = kernel.prepare(inputs, outputs);
  if (entries_.size() >= capacity_) {
    const auto last = std::prev(entries_.end());
    const auto [first, stop] = index_.equal_range(last->hash);
    index_.erase(std::find_if(first, stop, [&](const auto& item) { return item.second == last; }));
    entries_.pop_back();
  }
  entries_.push_front(
      {&kernel, {inputs.types().begin(), inputs.types().end()}, inputs.attributes(), state, hash});
  index_.emplace(hash, entries_.begin());
  return state;
}

}  // namespace plimsoll::ops

#include <plimsoll/tensor/symbol.h>

#include <atomic>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/tensor/tensor_type.h>

#include "tensor/tensor_rep.h"

namespace plimsoll {
namespace {
thread_local ViewListener* current_listener = nullptr;
}  // namespace

ViewListener* ViewListener::current() { return current_listener; }

ViewListener* ViewListener::set_current(ViewListener* listener) {
  return std::exchange(current_listener, listener);
}

std::uint64_t next_tensor_id() {
  // Threads draw blocks of numbers, so that making tensors does not share a cache line.
  constexpr std::uint64_t kBlock = 4096;
  static std::atomic<std::uint64_t> next_block{1};
  thread_local std::uint64_t next = 0;
  if (next % kBlock == 0) next = next_block.fetch_add(1, std::memory_order_relaxed) * kBlock;
  return next++;
}

std::string TensorType::to_string() const {
  return fmt::format("{} {}", dtype_name(dtype), shape.to_string());
}

}  // namespace plimsoll

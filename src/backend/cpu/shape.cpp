#include <array>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {
namespace {

void run_broadcast_to(const KernelContext& k) {
  const Shape& shape = k.out(0).shape();
  const Shape& from_shape = k.in(0).shape();
  const auto dense = from_shape.contiguous_strides();
  const int extra = shape.rank() - from_shape.rank();
  std::array<std::int64_t, kMaxRank> strides{};
  for (int i = 0; i < from_shape.rank(); ++i) {
    strides[static_cast<std::size_t>(i + extra)] =
        from_shape[i] == 1 ? 0 : dense[static_cast<std::size_t>(i)];
  }
  with_any(k.out(0).dtype(), [&]<typename T>() {
    const T* from = k.in(0).as<const T>();
    T* to = k.out(0).as<T>();
    parallel_for(k.out(0).elements(), 32768, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t at = first; at < last; ++at) {
        std::int64_t rest = at;
        std::int64_t source = 0;
        for (int i = shape.rank() - 1; i >= 0; --i) {
          source += rest % shape[i] * strides[static_cast<std::size_t>(i)];
          rest /= shape[i];
        }
        to[at] = from[source];
      }
    });
  });
}

}  // namespace

void add_shape_kernels(KernelTable& table) {
  table.add("reshape", {[](const KernelContext&) {}});
  table.add("broadcast_to", {run_broadcast_to});
}

}  // namespace plimsoll::cpu

#include <cstring>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {

namespace {

constexpr std::int64_t kMoveGrain = 16384;

template <typename T>
void move_towards(const KernelContext& k) {
  const T keep = static_cast<T>(k.attributes.number("keep"));
  const T share = static_cast<T>(k.attributes.number("share"));
  T* const target = k.in(0).as<T>();
  const T* const value = k.in(1).as<const T>();
  parallel_for(k.in(0).elements(), kMoveGrain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const T kept = target[i] * keep;
      target[i] = kept + value[i] * share;
    }
  });
}

void add_kernels(KernelTable& table) {
  table.add("assign", {[](const KernelContext& k) {
              if (k.in(0).elements() == 0) return;
              std::memmove(k.in(0).data, k.in(1).data, k.in(0).type.bytes());
            }});
  table.add("move_towards", {[](const KernelContext& k) {
              k.in(0).dtype() == DType::f64 ? move_towards<double>(k) : move_towards<float>(k);
            }});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu

// Rotary position embedding. The result may be written over x: a pair is read before it is written.
#pragma GCC optimize("O3")

#include <algorithm>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/kernels.h"
#include "backend/cpu/row_math.h"

namespace plimsoll::cpu {
namespace {

constexpr std::int64_t kGrain = 16384;

/// `heads` heads of a row. Pairs are `apart` elements apart, and their first elements `step`.
template <typename T>
PLIMSOLL_CLONES void turn_heads(T* to, const T* from, const Acc<T>* cos, const Acc<T>* sin,
                                Acc<T> sign, std::int64_t heads, std::int64_t half,
                                std::int64_t apart, std::int64_t step) {
  for (std::int64_t head = 0; head < heads; ++head, to += 2 * half, from += 2 * half) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < half; ++i) {
      const Acc<T> a = widen(from[i * step]);
      const Acc<T> b = widen(from[i * step + apart]);
      const Acc<T> s = sign * sin[i];
      to[i * step] = narrow<T>(a * cos[i] - b * s);
      to[i * step + apart] = narrow<T>(b * cos[i] + a * s);
    }
  }
}

void run_rope(const KernelContext& k) {
  const Shape& shape = k.out(0).shape();
  if (shape.elements() == 0) return;
  const std::int64_t columns = shape.dim(-1);
  const std::int64_t tokens = shape.dim(-2);
  const std::int64_t half = k.attributes.integer("size") / 2;
  const std::int64_t heads = k.attributes.integer("heads");
  const std::int64_t turned = heads * half * 2;
  const bool interleaved = k.attributes.flag("interleaved");
  const bool inverse = k.attributes.flag("inverse");
  with_float(k.out(0).dtype(), [&]<typename T>() {
    const T* from = k.in(0).as<const T>();
    T* to = k.out(0).as<T>();
    const auto* cos = k.in(1).as<const Acc<T>>();
    const auto* sin = k.in(2).as<const Acc<T>>();
    parallel_for(shape.elements() / columns, std::max<std::int64_t>(1, kGrain / columns),
                 [&](std::int64_t first, std::int64_t last) {
                   for (std::int64_t row = first; row < last; ++row) {
                     const std::int64_t table = row % tokens * half;
                     const T* x = from + row * columns;
                     T* y = to + row * columns;
                     turn_heads<T>(y, x, cos + table, sin + table, Acc<T>(inverse ? -1 : 1), heads,
                                   half, interleaved ? 1 : half, interleaved ? 2 : 1);
                     if (x != y) std::copy(x + turned, x + columns, y + turned);
                   }
                 });
  });
}

void add_kernels(KernelTable& table) { table.add("rope", {run_rope}); }

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu

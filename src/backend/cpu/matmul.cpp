#include <plimsoll/base/parallel.h>

#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {
namespace {

/// Where batch `index` of the output's batch dimensions is in an input, in matrices.
std::int64_t batch_of(const Shape& out, const Shape& in, std::int64_t index) {
  std::int64_t at = 0;
  std::int64_t stride = 1;
  const int extra = out.rank() - in.rank();
  for (int i = out.rank() - 3; i >= 0; --i) {
    const std::int64_t here = index % out[i];
    index /= out[i];
    if (i - extra < 0) continue;
    at += in[i - extra] == 1 ? 0 : here * stride;
    stride *= in[i - extra];
  }
  return at;
}

void run_matmul(const KernelContext& k) {
  const Shape& shape = k.out(0).shape();
  const std::int64_t m = shape.dim(-2);
  const std::int64_t n = shape.dim(-1);
  const bool ta = k.attributes.flag("transpose_a");
  const bool tb = k.attributes.flag("transpose_b");
  const std::int64_t inner = k.in(0).shape().dim(ta ? -2 : -1);
  const std::int64_t batches = k.out(0).elements() / (m * n);
  with_float(k.out(0).dtype(), [&]<typename T>() {
    parallel_for(batches * m, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        const std::int64_t batch = row / m;
        const std::int64_t i = row % m;
        const T* a = k.in(0).as<const T>() + batch_of(shape, k.in(0).shape(), batch) * m * inner;
        const T* b = k.in(1).as<const T>() + batch_of(shape, k.in(1).shape(), batch) * inner * n;
        T* to = k.out(0).as<T>() + row * n;
        for (std::int64_t j = 0; j < n; ++j) {
          Acc<T> total{};
          for (std::int64_t l = 0; l < inner; ++l) {
            total += static_cast<Acc<T>>(ta ? a[l * m + i] : a[i * inner + l]) *
                     static_cast<Acc<T>>(tb ? b[j * inner + l] : b[l * n + j]);
          }
          to[j] = static_cast<T>(total);
        }
      }
    });
  });
}

}  // namespace

void add_matmul_kernels(KernelTable& table) { table.add("matmul", {run_matmul}); }

}  // namespace plimsoll::cpu

// cumsum and cumprod: a line is one thread's, in order, so that threads change nothing.
#include <algorithm>
#include <array>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {
namespace {

constexpr std::int64_t kColumns = 64;
constexpr std::int64_t kGrain = 16384;

/// Sums of floats are in f64, of integers in i64, which wraps around as all integers do.
template <typename T>
using Total = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;

template <typename T>
Total<T> total_of(T value) {
  return static_cast<Total<T>>(static_cast<Acc<T>>(value));
}
template <typename T>
T rounded(Total<T> value) {
  return static_cast<T>(static_cast<Acc<T>>(value));
}

/// Neighbouring lines along a dimension: `count` of them, whose elements are `stride` apart, the
/// first element to take at `begin`.
struct Band {
  std::int64_t begin;
  std::int64_t stride;  ///< below 0 from the last to the first
  std::int64_t count;
};

template <typename Body>
void over_bands(const KernelContext& k, Body body) {
  const auto axis = static_cast<int>(k.attributes.integer("axis"));
  const Shape& shape = k.out(0).shape();
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  for (int i = 0; i < shape.rank(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : shape[i];
  const std::int64_t extent = shape[axis];
  if (outer * extent * inner == 0) return;
  const bool reverse = k.attributes.flag("reverse");
  const std::int64_t bands = (inner + kColumns - 1) / kColumns;
  const std::int64_t work = std::min(kColumns, inner) * extent;
  parallel_for(
      outer * bands, std::max<std::int64_t>(1, kGrain / work),
      [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) {
          const std::int64_t column = i % bands * kColumns;
          const std::int64_t start =
              i / bands * extent * inner + (reverse ? (extent - 1) * inner : 0) + column;
          body(Band{start, reverse ? -inner : inner, std::min(kColumns, inner - column)}, extent);
        }
      });
}

template <bool Product>
void run_cumulative(const KernelContext& k) {
  with_number(k.out(0).dtype(), [&]<typename T>() {
    const T* x = k.in(0).as<const T>();
    T* y = k.out(0).as<T>();
    over_bands(k, [&](const Band& band, std::int64_t extent) {
      std::array<Total<T>, kColumns> totals;
      totals.fill(Total<T>(Product ? 1 : 0));
      for (std::int64_t j = 0; j < extent; ++j) {
        const std::int64_t at = band.begin + j * band.stride;
        for (std::int64_t i = 0; i < band.count; ++i) {
          auto& total = totals[static_cast<std::size_t>(i)];
          const Total<T> value = total_of(x[at + i]);
          total = Product ? total * value : total + value;
          y[at + i] = rounded<T>(total);
        }
      }
    });
  });
}

/// dx_i is the product before i times s_i, where s_i = dy_i + x_{i+1} s_{i+1}: no division.
void run_cumprod_grad(const KernelContext& k) {
  with_float(k.out(0).dtype(), [&]<typename T>() {
    const T* dy = k.in(0).as<const T>();
    const T* x = k.in(1).as<const T>();
    const T* y = k.in(2).as<const T>();
    T* dx = k.out(0).as<T>();
    over_bands(k, [&](const Band& band, std::int64_t extent) {
      std::array<double, kColumns> sums{};
      for (std::int64_t j = extent - 1; j >= 0; --j) {
        const std::int64_t at = band.begin + j * band.stride;
        for (std::int64_t i = 0; i < band.count; ++i) {
          double& sum = sums[static_cast<std::size_t>(i)];
          const double next = j + 1 < extent ? total_of(x[at + band.stride + i]) : 0;
          sum = total_of(dy[at + i]) + (j + 1 < extent ? next * sum : 0);
          dx[at + i] = rounded<T>(j > 0 ? total_of(y[at - band.stride + i]) * sum : sum);
        }
      }
    });
  });
}

void add_kernels(KernelTable& table) {
  table.add("cumsum", {run_cumulative<false>});
  table.add("cumprod", {run_cumulative<true>});
  table.add("cumprod_grad", {run_cumprod_grad});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu

#include <plimsoll/backend/common/convert.h>

#include "backend/cuda/kernels/elementwise.cuh"
#include "backend/cuda/kernels/many.cuh"

namespace plimsoll::cuda {
namespace {

/// As f32 such that rounding that to 16 bits is as if the number itself had been: the last bit says
/// that something was lost (rounding to odd).
__device__ __forceinline__ float with_lost(float toward_zero, bool lost) {
  return lost ? __uint_as_float(__float_as_uint(toward_zero) | 1U) : toward_zero;
}
template <typename From>
__device__ __forceinline__ float rounded_to_odd(From x) {
  if constexpr (std::is_same_v<From, double>) {
    const float near = __double2float_rz(x);
    return with_lost(near, static_cast<double>(near) != x && x == x);
  } else if constexpr (std::is_same_v<From, std::int64_t>) {
    const float near = __ll2float_rz(x);
    return with_lost(near, static_cast<std::int64_t>(near) != x);
  } else {
    const float near = __int2float_rz(x);
    return with_lost(near, static_cast<std::int64_t>(near) != x);
  }
}

template <typename From, typename To>
struct CastBody {
  using In = From;
  using Out = To;
  static constexpr int kInputs = 1;
  static constexpr bool kOdd =
      is_narrow_v<To> && (std::is_same_v<From, double> || std::is_same_v<From, std::int64_t> ||
                          std::is_same_v<From, std::int32_t>);

  template <int E>
  __device__ __forceinline__ void operator()(const Acc<From> (&x)[1][E], Acc<To> (&y)[E]) const {
    each(y, [&](int i) -> Acc<To> {
      if constexpr (kOdd) {
        return rounded_to_odd(x[0][i]);
      } else {
        return backend::converted<Acc<To>>(x[0][i]);
      }
    });
  }
};

void run_cast(const KernelContext& k) {
  with_any(k.in(0).dtype(), [&]<typename From>() {
    with_any(k.out(0).dtype(), [&]<typename To>() { run_dense(k, CastBody<From, To>{}, "cast"); });
  });
}

template <typename To>
struct SmallCast {
  To* to;
  const float* from;
  std::uint32_t elements;
};
template <typename To>
using SmallCasts = Many<SmallCast<To>, 128>;

constexpr unsigned kEachBlock = kThreads * 8;

template <typename To>
__global__ void __launch_bounds__(kThreads)
    cast_many(const __grid_constant__ SmallCasts<To> casts) {
  const int which = casts.find(blockIdx.x);
  const SmallCast<To> cast = casts.entries[which];
  const std::uint32_t at = (blockIdx.x - casts.first[which]) * kEachBlock + threadIdx.x * 8;
  if (at + 8 <= cast.elements) {
    float x[8];
    load_wide<4>(cast.from + at, x);
    load_wide<4>(cast.from + at + 4, x + 4);
    store_wide<8>(cast.to + at, x);
  } else {
    for (std::uint32_t i = at; i < cast.elements; ++i) cast.to[i] = narrow<To>(cast.from[i]);
  }
}

template <typename To>
void run_many(std::span<const KernelContext> calls) {
  SmallCasts<To> casts;
  const auto flush = [&] {
    cast_many<To><<<casts.blocks(), kThreads, 0, queue_of(calls[0])>>>(casts);
    check_launch("cast");
    casts.count = 0;
  };
  for (const KernelContext& k : calls) {
    const auto elements = static_cast<std::uint32_t>(k.in(0).elements());
    casts.add({k.out(0).as<To>(), k.in(0).as<const float>(), elements},
              (elements + kEachBlock - 1) / kEachBlock);
    if (casts.full()) flush();
  }
  if (casts.count > 0) flush();
}

void run_casts(std::span<const ops::OpDef* const>, std::span<const KernelContext> calls, bool) {
  calls[0].out(0).dtype() == DType::f16 ? run_many<__half>(calls) : run_many<__nv_bfloat16>(calls);
}

void add_kernels(KernelTable& table) {
  table.add("cast", {run_cast});
  table.add_fused("casts", run_casts);
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda

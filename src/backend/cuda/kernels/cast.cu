#include "backend/cuda/kernels/element.cuh"
#include "backend/cuda/kernels/elementwise.cuh"
#include "backend/cuda/kernels/many.cuh"

namespace plimsoll::cuda {
namespace {

template <typename From, typename To>
struct CastBody {
  using In = From;
  using Out = To;
  static constexpr int kInputs = 1;

  template <int E>
  __device__ __forceinline__ void operator()(const Acc<From> (&x)[1][E], Acc<To> (&y)[E]) const {
    each(y, [&](int i) { return element::cast<is_narrow_v<To>, Acc<To>>(x[0][i]); });
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

/// Any floats, at any place.
template <typename From, typename To>
struct JoinedPart {
  To* to;
  const From* from;
  std::int64_t elements;
};
template <typename From, typename To>
using JoinedParts = Many<JoinedPart<From, To>, 32>;

template <typename From, typename To>
__global__ void __launch_bounds__(kThreads)
    join_parts(const __grid_constant__ JoinedParts<From, To> parts) {
  const int which = parts.find(blockIdx.x);
  const JoinedPart<From, To> part = parts.entries[which];
  const std::int64_t begin =
      static_cast<std::int64_t>(blockIdx.x - parts.first[which]) * kEachBlock;
  const std::int64_t end = min(begin + kEachBlock, part.elements);
  for (std::int64_t i = begin + threadIdx.x; i < end; i += kThreads) {
    const Acc<From> x[1][1] = {{widen(part.from[i])}};
    Acc<To> y[1];
    CastBody<From, To>{}(x, y);
    part.to[i] = narrow<To>(y[0]);
  }
}

template <typename From, typename To>
void run_join(const KernelContext& k) {
  JoinedParts<From, To> parts;
  const auto flush = [&] {
    if (parts.count == 0) return;
    join_parts<From, To><<<parts.blocks(), kThreads, 0, queue_of(k)>>>(parts);
    check_launch("join_rows");
    parts.count = 0;
  };
  To* to = k.out(0).as<To>();
  for (const TensorView& input : k.inputs) {
    const std::int64_t elements = input.elements();
    if (elements == 0) continue;
    parts.add({to, input.as<const From>(), elements},
              static_cast<unsigned>((elements + kEachBlock - 1) / kEachBlock));
    to += elements;
    if (parts.full()) flush();
  }
  flush();
}

/// f32 to 16 bits, each part at a multiple of 16 bytes.
template <typename To>
void run_wide_join(const KernelContext& k) {
  SmallCasts<To> casts;
  const auto flush = [&] {
    if (casts.count == 0) return;
    cast_many<To><<<casts.blocks(), kThreads, 0, queue_of(k)>>>(casts);
    check_launch("join_rows");
    casts.count = 0;
  };
  To* to = k.out(0).as<To>();
  for (const TensorView& input : k.inputs) {
    const auto elements = static_cast<std::uint32_t>(input.elements());
    if (elements == 0) continue;
    casts.add({to, input.as<const float>(), elements}, (elements + kEachBlock - 1) / kEachBlock);
    to += elements;
    if (casts.full()) flush();
  }
  flush();
}

void run_join_rows(const KernelContext& k) {
  const DType to = k.out(0).dtype();
  bool wide = k.in(0).dtype() == DType::f32 && (to == DType::f16 || to == DType::bf16);
  for (const TensorView& input : k.inputs) {
    wide = wide && input.elements() % 8 == 0 && input.elements() < (std::int64_t{1} << 31);
  }
  if (wide) return to == DType::f16 ? run_wide_join<__half>(k) : run_wide_join<__nv_bfloat16>(k);
  with_float(k.in(0).dtype(), [&]<typename From>() {
    with_float(to, [&]<typename To>() { run_join<From, To>(k); });
  });
}

void add_kernels(KernelTable& table) {
  table.add("cast", {run_cast});
  table.add("join_rows", {run_join_rows});
  table.add_fused("casts", run_casts);
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda

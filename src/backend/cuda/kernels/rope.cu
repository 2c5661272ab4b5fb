// Rotary position embedding. A thread has a few pairs of up to kHeads heads of a row, which share
// their cosines and sines. The result may be written over x: a thread reads all of its pairs before
// it writes one, and no other thread has them.
#include <algorithm>

#include "backend/cuda/kernels/dtype.cuh"
#include "backend/cuda/kernels/index.cuh"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"

namespace plimsoll::cuda {
namespace {

constexpr int kHeads = 2;

template <typename T>
struct Arguments {
  T* to;
  const T* from;
  const Acc<T>* cos;
  const Acc<T>* sin;
  std::int64_t rows;
  std::int64_t columns;  ///< of a row
  std::int64_t tokens;
  int half;              ///< of a head, in elements
  int heads;             ///< that are written
  int turned;            ///< of those; the others are copied
  Acc<T> sign;           ///< of the sines
  int rows_at_once = 1;  ///< by a block
  Divider units = {};    ///< of a row: pieces of pairs, for each group of heads
  Divider pieces = {};   ///< of a head
};

/// `N` table entries, 16 bytes at a time where they fill that.
template <int N, typename A>
__device__ __forceinline__ void load_table(const A* from, A (&to)[N]) {
  constexpr int kEach = N < kVector<A> ? N : kVector<A>;
#pragma unroll
  for (int i = 0; i < N; i += kEach) load_wide<kEach>(from + i, to + i);
}

/// N pairs of a head: `a` has their first elements, `b` the others. `head` is where it begins, and
/// `first` the first pair's number.
template <bool kInterleaved, int N, typename T>
__device__ __forceinline__ void load_pairs(const T* head, int half, int first, Acc<T> (&a)[N],
                                           Acc<T> (&b)[N]) {
  if constexpr (kInterleaved) {
    Acc<T> both[2 * N];
    load_wide<2 * N>(head + 2 * first, both);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      a[i] = both[2 * i];
      b[i] = both[2 * i + 1];
    }
  } else {
    load_wide<N>(head + first, a);
    load_wide<N>(head + half + first, b);
  }
}
template <bool kInterleaved, int N, typename T>
__device__ __forceinline__ void store_pairs(T* head, int half, int first, const Acc<T> (&a)[N],
                                            const Acc<T> (&b)[N]) {
  if constexpr (kInterleaved) {
    Acc<T> both[2 * N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      both[2 * i] = a[i];
      both[2 * i + 1] = b[i];
    }
    store_wide<2 * N>(head + 2 * first, both);
  } else {
    store_wide<N>(head + first, a);
    store_wide<N>(head + half + first, b);
  }
}

template <typename T, bool kInterleaved, int N>
__device__ __forceinline__ void turn(const Arguments<T>& a, std::int64_t row, int group,
                                     int first) {
  using A = Acc<T>;
  const std::int64_t table = row % a.tokens * a.half + first;
  const int head0 = group * kHeads;
  const int count = min(kHeads, a.heads - head0);
  const std::int64_t start = row * a.columns + static_cast<std::int64_t>(head0) * 2 * a.half;
  A left[kHeads][N];
  A right[kHeads][N];
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    if (h < count) {
      load_pairs<kInterleaved, N, T>(a.from + start + h * 2 * a.half, a.half, first, left[h],
                                     right[h]);
    }
  }
  A cos[N];
  A sin[N];
  load_table(a.cos + table, cos);
  load_table(a.sin + table, sin);
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    if (h >= count) continue;
    if (head0 + h < a.turned) {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const A x = left[h][i];
        const A y = right[h][i];
        const A s = a.sign * sin[i];
        left[h][i] = x * cos[i] - y * s;
        right[h][i] = y * cos[i] + x * s;
      }
    }
    store_pairs<kInterleaved, N, T>(a.to + start + h * 2 * a.half, a.half, first, left[h],
                                    right[h]);
  }
}

template <typename T, bool kInterleaved, int N>
__global__ void __launch_bounds__(kThreads) rope_kernel(const __grid_constant__ Arguments<T> a) {
  const std::uint32_t most = static_cast<std::uint32_t>(a.rows_at_once) * a.units.divisor;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * a.rows_at_once;
  for (std::int64_t row0 = static_cast<std::int64_t>(blockIdx.x) * a.rows_at_once; row0 < a.rows;
       row0 += stride) {
    for (std::uint32_t i = threadIdx.x; i < most; i += kThreads) {
      std::uint32_t row = i;
      std::uint32_t group = a.units.divide(row);
      const std::uint32_t piece = a.pieces.divide(group);
      if (row0 + row < a.rows) {
        turn<T, kInterleaved, N>(a, row0 + row, static_cast<int>(group),
                                 static_cast<int>(piece) * N);
      }
    }
  }
}

template <typename T, bool kInterleaved, int N>
void launch(Arguments<T> a, cudaStream_t stream) {
  const std::int64_t pieces = a.half / N;
  const std::int64_t units = pieces * ((a.heads + kHeads - 1) / kHeads);
  a.pieces = Divider(pieces);
  a.units = Divider(units);
  a.rows_at_once = static_cast<int>(std::max<std::int64_t>(1, kThreads / units));
  const std::int64_t blocks = (a.rows + a.rows_at_once - 1) / a.rows_at_once;
  rope_kernel<T, kInterleaved, N><<<blocks_for(blocks, 1), kThreads, 0, stream>>>(a);
  check_launch("rope");
}

void run_rope(const KernelContext& k) {
  const Shape& shape = k.out(0).shape();
  const std::int64_t size = k.attributes.integer("size");
  const std::int64_t turned = k.attributes.integer("heads");
  // In place, heads that stay as they are need no copy.
  const bool in_place = k.in(0).data == k.out(0).data;
  if (shape.elements() == 0 || (in_place && turned == 0)) return;
  const bool interleaved = k.attributes.flag("interleaved");
  with_float(k.out(0).dtype(), [&]<typename T>() {
    const Arguments<T> a{.to = k.out(0).as<T>(),
                         .from = k.in(0).as<const T>(),
                         .cos = k.in(1).as<const Acc<T>>(),
                         .sin = k.in(2).as<const Acc<T>>(),
                         .rows = shape.elements() / shape.dim(-1),
                         .columns = shape.dim(-1),
                         .tokens = shape.dim(-2),
                         .half = static_cast<int>(size / 2),
                         .heads = static_cast<int>(in_place ? turned : shape.dim(-1) / size),
                         .turned = static_cast<int>(turned),
                         .sign = Acc<T>(k.attributes.flag("inverse") ? -1 : 1)};
    constexpr int kWide = kVector<T>;
    if (interleaved) {
      size % kWide == 0 ? launch<T, true, kWide / 2>(a, queue_of(k))
                        : launch<T, true, 1>(a, queue_of(k));
    } else {
      size / 2 % kWide == 0 ? launch<T, false, kWide>(a, queue_of(k))
                            : launch<T, false, 1>(a, queue_of(k));
    }
  });
}

void add_kernels(KernelTable& table) { table.add("rope", {run_rope}); }

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda

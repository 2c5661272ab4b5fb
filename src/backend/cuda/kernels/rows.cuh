#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "backend/cuda/kernels/dtype.cuh"
#include "backend/cuda/kernels/launch.h"
#include "backend/cuda/kernels/rounded.cuh"

// Rows, each of them one thread group's: a thread's where they are very short, a warp's where they
// are short, a block's where they are long. A row of up to 8192 elements is held in registers
// between the passes over it; a longer one is read again in each.
//
// Which thread has which element is a function of the row's length and dtype. Pointers that are not
// aligned (views may begin anywhere) change how elements are loaded and not who adds them to what.

namespace plimsoll::cuda {

/// Whether 16 bytes at a time may be moved from and to all of these; null is.
inline bool all_aligned(std::initializer_list<const void*> pointers) {
  return std::ranges::all_of(
      pointers, [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; });
}

/// N elements that follow each other, by one instruction if `aligned`.
template <int N, typename T>
__device__ __forceinline__ Vec<T, N> load_some(const T* from, bool aligned) {
  if constexpr (N == 1) aligned = true;
  if (aligned) return load_vec<N>(from);
  Vec<T, N> result;
#pragma unroll
  for (int i = 0; i < N; ++i) result.lane[i] = from[i];
  return result;
}
template <typename T, int N>
__device__ __forceinline__ void store_some(T* to, const Vec<T, N>& value, bool aligned) {
  if constexpr (N == 1) aligned = true;
  if (aligned) return store_vec(to, value);
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = value.lane[i];
}

/// A few parameters per column, in the dtype T of what they are for or in Acc<T>.
struct Parameters {
  const void* data = nullptr;
  bool wide = false;
};
inline Parameters parameters_of(const ops::TensorView& view, DType dtype) {
  return {view.data, view.dtype() != dtype};
}

/// Those of N columns from `at` on, which N divides.
template <typename T, int N>
__device__ __forceinline__ void load_parameters(const Parameters& from, std::int64_t at,
                                                Acc<T> (&to)[N], bool aligned) {
  using A = Acc<T>;
  if constexpr (is_narrow_v<T>) {
    if (!from.wide) {
      const auto some = load_some<N>(static_cast<const T*>(from.data) + at, aligned);
#pragma unroll
      for (int i = 0; i < N; ++i) to[i] = widen(some.lane[i]);
      return;
    }
  }
  constexpr int kEach = N < kVector<A> ? N : kVector<A>;
#pragma unroll
  for (int part = 0; part < N; part += kEach) {
    const auto some = load_some<kEach>(static_cast<const A*>(from.data) + at + part, aligned);
#pragma unroll
    for (int i = 0; i < kEach; ++i) to[part + i] = some.lane[i];
  }
}

/// Calls f(item, at) for each vector of V elements of this thread's share of a row; `item` is known
/// to the compiler where there are Items of them, and 0 where the row is not held.
template <int V, int Items, int Group, typename F>
__device__ __forceinline__ void for_vectors(std::int64_t count, F f) {
  const int lane = static_cast<int>(threadIdx.x) % Group;
  if constexpr (Items > 0) {
    const int end = static_cast<int>(count);
#pragma unroll
    for (int item = 0; item < Items; ++item) {
      const int at = (item * Group + lane) * V;
      if (at < end) f(item, at);
    }
  } else {
#pragma unroll 4
    for (std::int64_t at = lane * V; at < count; at += Group * V) f(0, at);
  }
}

/// This thread's share of a row.
template <typename T, int V, int Items, int Group>
class Row {
 public:
  __device__ __forceinline__ Row(const T* from, std::int64_t count, bool aligned)
      : from_(from), aligned_(aligned) {
    if constexpr (Items > 0) {
      for_vectors<V, Items, Group>(
          count, [&](int item, int at) { held_[item] = load_some<V>(from + at, aligned); });
    }
  }
  __device__ __forceinline__ Vec<T, V> get(int item, std::int64_t at) const {
    if constexpr (Items > 0) {
      return held_[item];
    } else {
      return load_some<V>(from_ + at, aligned_);
    }
  }

  /// Of a held row: adds another to it and rounds, as the op `add` does.
  __device__ __forceinline__ void add(const T* other, std::int64_t count) {
    static_assert(Items > 0);
    for_vectors<V, Items, Group>(count, [&](int item, int at) {
      const Vec<T, V> more = load_some<V>(other + at, aligned_);
#pragma unroll
      for (int i = 0; i < V; ++i) {
        held_[item].lane[i] =
            narrow<T>(rounded::add(widen(held_[item].lane[i]), widen(more.lane[i])));
      }
    });
  }
  __device__ __forceinline__ void store(T* to, std::int64_t count) const {
    static_assert(Items > 0);
    for_vectors<V, Items, Group>(
        count, [&](int item, int at) { store_some(to + at, held_[item], aligned_); });
  }

 private:
  const T* from_;
  bool aligned_;
  Vec<T, V> held_[Items > 0 ? Items : 1];
};

struct Sum {
  template <typename A>
  static __device__ __forceinline__ A of(A a, A b) {
    return a + b;
  }
};
/// NaN is passed over.
struct Largest {
  template <typename A>
  static __device__ __forceinline__ A of(A a, A b) {
    return b > a ? b : a;
  }
};

/// The values of all threads of the group put together, in each of them the same bits. A group that
/// is a block has all its threads here.
template <typename Op, int Group, typename A>
__device__ __forceinline__ A group_reduce(A value) {
  if constexpr (Group == 1) return value;
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) {
    value = Op::of(value, __shfl_xor_sync(0xffffffffU, value, apart));
  }
  if constexpr (Group > 32) {
    __shared__ A parts[Group / 32];
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = parts[0];
#pragma unroll
    for (int i = 1; i < Group / 32; ++i) value = Op::of(value, parts[i]);
    __syncthreads();
  }
  return value;
}
template <int Group, typename A>
__device__ __forceinline__ A group_sum(A value) {
  return group_reduce<Sum, Group>(value);
}

/// Each of N sums as group_sum() gives it, on the way together.
template <int Group, int N, typename A>
__device__ __forceinline__ void group_sums(A (&values)[N]) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) {
#pragma unroll
    for (int n = 0; n < N; ++n) values[n] += __shfl_xor_sync(0xffffffffU, values[n], apart);
  }
  if constexpr (Group > 32) {
    __shared__ A parts[Group / 32][N];
    if (threadIdx.x % 32 == 0) {
#pragma unroll
      for (int n = 0; n < N; ++n) parts[threadIdx.x / 32][n] = values[n];
    }
    __syncthreads();
#pragma unroll
    for (int n = 0; n < N; ++n) {
      values[n] = parts[0][n];
#pragma unroll
      for (int i = 1; i < Group / 32; ++i) values[n] += parts[i][n];
    }
    __syncthreads();
  }
}

/// Threads of a block whose groups have Group threads.
template <int Group>
inline constexpr int kBlockOf = Group <= 32 ? 256 : Group;

/// The first row of this thread's group, and how far it is to the next one.
template <int Group>
__device__ __forceinline__ std::int64_t first_row() {
  constexpr int kGroups = kBlockOf<Group> / Group;
  return static_cast<std::int64_t>(blockIdx.x) * kGroups + threadIdx.x / Group;
}
template <int Group>
__device__ __forceinline__ std::int64_t row_stride() {
  return static_cast<std::int64_t>(gridDim.x) * (kBlockOf<Group> / Group);
}
template <int Group>
unsigned blocks_for_rows(std::int64_t rows) {
  return blocks_for(rows * Group, kBlockOf<Group>, std::int64_t{1} << 30);
}

/// Rows of this length are whole vectors, one after another.
template <typename T>
constexpr bool whole_vectors(std::int64_t count) {
  return sizeof(T) < 8 && count % kVector<T> == 0;
}

/// body<V, Items, Group>() for rows of `count` elements that are held where they fit.
template <typename T, typename Body>
void with_held_rows(std::int64_t count, Body&& body) {
  if constexpr (sizeof(T) < 8) {
    constexpr int kV = kVector<T>;
    if (whole_vectors<T>(count)) {
      if (count <= 32 * 8) return body.template operator()<kV, 8 / kV, 32>();
      if (count <= 32 * 32) return body.template operator()<kV, 32 / kV, 32>();
      if (count <= 256 * 32) return body.template operator()<kV, 32 / kV, 256>();
      return body.template operator()<kV, 0, 512>();
    }
  }
  if (count <= 1024) return body.template operator()<1, 0, 32>();
  body.template operator()<1, 0, 512>();
}

/// The same for rows that are read in every pass: from the first-level cache where they are short.
/// A group of one thread leaves no lanes without work where there are a few classes only.
template <typename T, typename Body>
void with_read_rows(std::int64_t count, Body&& body) {
  if (count <= 32) return body.template operator()<1, 0, 1>();
  if constexpr (sizeof(T) < 8) {
    constexpr int kV = kVector<T>;
    if (whole_vectors<T>(count)) {
      if (count <= 1024) return body.template operator()<kV, 0, 32>();
      return body.template operator()<kV, 0, 512>();
    }
  }
  if (count <= 1024) return body.template operator()<1, 0, 32>();
  body.template operator()<1, 0, 512>();
}

}  // namespace plimsoll::cuda

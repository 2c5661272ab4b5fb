#pragma once

#include <algorithm>

#include "backend/cuda/kernels/dtype.cuh"
#include "backend/cuda/kernels/index.cuh"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"

// Element by element over tensors that broadcast. A body says what is read, what is written and
// how one follows from the other, for a few elements at a time so that a switch over ops is taken
// once for all of them:
//
//   struct Sums {
//     using In = float;
//     using Out = float;
//     static constexpr int kInputs = 2;
//     template <int E>
//     __device__ void operator()(const float (&x)[2][E], float (&y)[E]) const {
//       each(y, [&](int i) { return x[0][i] + x[1][i]; });
//     }
//   };
//   run_elementwise(k, Sums{}, "add");
//
// The output may be one of the inputs: every thread reads what it writes before it does.

namespace plimsoll::cuda {

template <int E, typename R, typename F>
__device__ __forceinline__ void each(R (&y)[E], F f) {
#pragma unroll
  for (int i = 0; i < E; ++i) y[i] = f(i);
}

template <typename T, int N>
struct Pointers {
  const T* at[N];
};

/// Elements that are moved at once, and how often per thread before anything is computed.
template <typename Body>
inline constexpr int kBodyVector = 16 / static_cast<int>(std::max(sizeof(typename Body::In),
                                                                  sizeof(typename Body::Out)));
template <int V>
inline constexpr int kUnroll = V >= 16 ? 1 : (V == 8 ? 2 : 4);

template <typename Body>
__global__ void __launch_bounds__(kThreads)
    dense_kernel(const Body body, typename Body::Out* out,
                 const Pointers<typename Body::In, Body::kInputs> in, std::int64_t elements) {
  using In = typename Body::In;
  using Out = typename Body::Out;
  constexpr int V = kBodyVector<Body>;
  constexpr int U = kUnroll<V>;
  constexpr int N = Body::kInputs;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads * V * U;
  std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * kThreads * V * U;
  for (; tile < elements; tile += stride) {
    const std::int64_t first = tile + static_cast<std::int64_t>(threadIdx.x) * V;
    const bool whole = tile + kThreads * V * U <= elements;
    Acc<In> x[N][V * U];
    Acc<Out> y[V * U];
    if (whole) {
#pragma unroll
      for (int n = 0; n < N; ++n) {
#pragma unroll
        for (int u = 0; u < U; ++u) {
          load_wide<V>(in.at[n] + first + u * kThreads * V, &x[n][u * V]);
        }
      }
    } else {
#pragma unroll
      for (int n = 0; n < N; ++n) {
#pragma unroll
        for (int i = 0; i < V * U; ++i) {
          const std::int64_t at = first + i / V * kThreads * V + i % V;
          x[n][i] = at < elements ? widen(in.at[n][at]) : Acc<In>{};
        }
      }
    }
    body(x, y);
    if (whole) {
#pragma unroll
      for (int u = 0; u < U; ++u) store_wide<V>(out + first + u * kThreads * V, &y[u * V]);
    } else {
#pragma unroll
      for (int i = 0; i < V * U; ++i) {
        const std::int64_t at = first + i / V * kThreads * V + i % V;
        if (at < elements) out[at] = narrow<Out>(y[i]);
      }
    }
  }
}

/// `units` of V elements each lie side by side in the output; input n of a unit lies so as well
/// where bit n of `side_by_side` is set, and is one element where not.
template <typename Body, int V>
__global__ void __launch_bounds__(kThreads)
    broadcast_kernel(const Body body, typename Body::Out* out,
                     const Pointers<typename Body::In, Body::kInputs> in,
                     const __grid_constant__ Index<Body::kInputs> index, std::uint32_t side_by_side,
                     std::uint32_t units) {
  using In = typename Body::In;
  constexpr int U = V == 1 ? 4 : kUnroll<V>;
  constexpr int N = Body::kInputs;
  const std::uint32_t stride = gridDim.x * kThreads * U;
  for (std::uint32_t tile = blockIdx.x * kThreads * U; tile < units; tile += stride) {
    // All loads first: what one waits for is only used after the last has been issued.
    Vec<In, V> raw[N][U];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const std::uint32_t unit = min(tile + u * kThreads + threadIdx.x, units - 1);
      std::int64_t at[N];
      index.locate(unit, at);
#pragma unroll
      for (int n = 0; n < N; ++n) {
        if (V > 1 && (side_by_side >> n & 1U) != 0) {
          raw[n][u] = load_vec<V>(in.at[n] + at[n]);
        } else {
          raw[n][u].lane[0] = in.at[n][at[n]];
        }
      }
    }
    Acc<In> x[N][V * U];
    Acc<typename Body::Out> y[V * U];
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const bool lanes = V > 1 && (side_by_side >> n & 1U) != 0;
#pragma unroll
      for (int i = 0; i < V * U; ++i) {
        x[n][i] = widen(lanes ? raw[n][i / V].lane[i % V] : raw[n][i / V].lane[0]);
      }
    }
    body(x, y);
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const std::uint32_t unit = tile + u * kThreads + threadIdx.x;
      if (unit < units) {
        store_wide<V>(out + static_cast<std::int64_t>(unit) * V, &y[u * V]);
      }
    }
  }
}

/// How output 0 and the inputs that broadcast to it lie: the output is array 0.
template <int N>
Walk<N + 1> broadcast_walk(const KernelContext& k) {
  const Shape& out = k.out(0).shape();
  const auto dense = out.contiguous_strides();
  std::array<std::array<std::int64_t, kMaxRank>, N> given{};
  for (int n = 0; n < N; ++n) {
    given[static_cast<std::size_t>(n)] = k.in(n).shape().contiguous_strides();
  }
  Walk<N + 1> walk;
  for (int i = 0; i < out.rank(); ++i) {
    typename Walk<N + 1>::Strides stride{dense[static_cast<std::size_t>(i)]};
    for (int n = 0; n < N; ++n) {
      const Shape& in = k.in(n).shape();
      const int d = i - (out.rank() - in.rank());
      const bool repeated = d < 0 || in[d] == 1;
      stride[static_cast<std::size_t>(n + 1)] =
          repeated ? 0 : given[static_cast<std::size_t>(n)][static_cast<std::size_t>(d)];
    }
    walk.add(out[i], stride);
  }
  return walk;
}

/// The walk without its output, in units of V elements of the last dimension, which V divides.
template <int N>
Walk<N> in_units(const Walk<N + 1>& walk, int vector) {
  Walk<N> units;
  units.rank = walk.rank;
  for (int i = 0; i < walk.rank; ++i) {
    const bool last = i == walk.rank - 1;
    units.extent(i) = last ? walk.extent(i) / vector : walk.extent(i);
    for (std::size_t n = 0; n < N; ++n) {
      units.stride(i)[n] = walk.stride(i)[n + 1] * (last ? vector : 1);
    }
  }
  return units;
}

template <typename Body>
void run_broadcast(const KernelContext& k, const Body& body, const char* who) {
  using In = typename Body::In;
  using Out = typename Body::Out;
  constexpr int N = Body::kInputs;
  constexpr int V = kBodyVector<Body>;
  for_pieces(broadcast_walk<N>(k), [&](const Walk<N + 1>& walk,
                                       const std::array<std::int64_t, N + 1>& offsets) {
    Pointers<In, N> in;
    bool whole = walk.rank > 0 && walk.extent(walk.rank - 1) % V == 0 && offsets[0] % V == 0;
    std::uint32_t side_by_side = 0;
    for (int n = 0; n < N; ++n) {
      const std::int64_t offset = offsets[static_cast<std::size_t>(n + 1)];
      in.at[n] = k.in(n).template as<const In>() + offset;
      if (walk.rank > 0 && walk.stride(walk.rank - 1)[static_cast<std::size_t>(n + 1)] != 0) {
        side_by_side |= 1U << n;
        whole = whole && offset % V == 0;
      }
    }
    Out* out = k.out(0).template as<Out>() + offsets[0];
    const std::int64_t units = walk.elements() / (whole ? V : 1);
    const Index<N> index(in_units<N>(walk, whole ? V : 1));
    const auto launch = [&](auto kernel, int unroll) {
      kernel<<<blocks_for((units + unroll - 1) / unroll, kThreads, 1 << 20), kThreads, 0,
               queue_of(k)>>>(body, out, in, index, side_by_side,
                              static_cast<std::uint32_t>(units));
    };
    whole ? launch(broadcast_kernel<Body, V>, kUnroll<V>) : launch(broadcast_kernel<Body, 1>, 4);
    check_launch(who);
  });
}

/// Runs `body` over output 0 and the first Body::kInputs inputs, which have its shape.
template <typename Body>
void run_dense(const KernelContext& k, const Body& body, const char* who) {
  constexpr int kEach = kBodyVector<Body> * kUnroll<kBodyVector<Body>>;
  const std::int64_t elements = k.out(0).elements();
  if (elements == 0) return;
  Pointers<typename Body::In, Body::kInputs> in;
  for (int n = 0; n < Body::kInputs; ++n) {
    in.at[n] = k.in(n).template as<const typename Body::In>();
  }
  const unsigned blocks = blocks_for((elements + kEach - 1) / kEach, kThreads, 1 << 30);
  dense_kernel<Body><<<blocks, kThreads, 0, queue_of(k)>>>(
      body, k.out(0).template as<typename Body::Out>(), in, elements);
  check_launch(who);
}

/// The same where inputs broadcast to the output.
template <typename Body>
void run_elementwise(const KernelContext& k, const Body& body, const char* who) {
  bool dense = true;
  for (int n = 0; n < Body::kInputs; ++n) {
    dense = dense && k.in(n).elements() == k.out(0).elements();
  }
  if constexpr (Body::kInputs > 1) {
    if (!dense && k.out(0).elements() != 0) return run_broadcast(k, body, who);
  }
  run_dense(k, body, who);
}

}  // namespace plimsoll::cuda

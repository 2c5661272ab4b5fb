#pragma once

#include <cuda_pipeline.h>

#include "backend/cuda/kernels/normalize.cuh"
#include "backend/cuda/kernels/vectors.cuh"

// The gradients of layer_norm and rms_norm by rows that a group of threads can hold. dy and x are
// read once; each thread adds up dscale and dbias of its columns over all rows that its group
// treats, and blocks put their groups' sums together in order.
//
// While a group computes, its next rows are on their way to shared memory. A thread reads only what
// it has fetched itself, so that nobody waits for anybody.

namespace plimsoll::cuda {

template <typename T>
struct NormGrad {
  T* dx;  ///< null: nobody wants it
  const T* dy;
  const T* x;
  Parameters scale;
  std::int64_t rows;
  std::int64_t features;
  Acc<T> epsilon;
  bool centered;
  bool aligned = false;
  /// If not null: total = dx + other, dx rounded first.
  T* total = nullptr;
  const T* other = nullptr;
};

/// How norm_grad_rows is cut, by what a row is like alone.
struct HeldRows {
  int threads;  ///< of a block
  int stages;   ///< rows of a group in shared memory at a time, where the device has room for them
  int blocks;   ///< on a multiprocessor at a time

  /// Each thread of `group` has `items` vectors of `lanes` elements of a row.
  constexpr HeldRows(int items, int lanes, int group)
      : threads(group == 32 && (lanes > 4 || items <= 4) ? 512 : 256), stages(3), blocks(1) {
    // dy, x and what is added to dx.
    const int stage = threads * items * 16 * 3;
    constexpr int kMost = 216 * 1024;
    if (3 * stage > kMost) stages = 2;
    const int fit = kMost / (stages * stage);
    // What a thread keeps of a row and of the columns' sums must fit its registers.
    const int wanted = items * lanes <= 8    ? 1024 / threads
                       : items * lanes <= 16 ? 512 / threads
                                             : 1;
    blocks = fit < wanted ? fit : wanted;
  }
};

/// `parts` gets each block's dscale and dbias: [blocks, 2, features]. `stages` is 3, 2 or, if rows
/// go straight to registers, 0. Shared memory: scale, then the stages or the sums of a block.
template <typename T, int Items, int Group>
__global__ void __launch_bounds__(HeldRows(Items, kVector<T>, Group).threads,
                                  HeldRows(Items, kVector<T>, Group).blocks)
    norm_grad_rows(const NormGrad<T> n, float* parts, int stages) {
  constexpr int V = kVector<T>;
  constexpr int kThreads = HeldRows(Items, V, Group).threads;
  constexpr int kGroups = kThreads / Group;
  constexpr int kRow = Items * Group;  // vectors
  extern __shared__ uint4 shared[];
  const int features = static_cast<int>(n.features);
  const int lane = static_cast<int>(threadIdx.x) % Group;
  const int group = static_cast<int>(threadIdx.x) / Group;
  const int arrays = n.other == nullptr ? 2 : 3;

  auto* const scales = reinterpret_cast<float*>(shared);
  uint4* const buffers = shared + (features + 3) / 4;
  const auto slot = [&](int stage, int array, int item) {
    return buffers + ((stage * kGroups + group) * arrays + array) * kRow + item * Group + lane;
  };

  const float share = 1.0F / static_cast<float>(n.features);
  float dscale[Items * V] = {};
  float dbias[Items * V] = {};
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kGroups + group;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kGroups;
  const auto fetch = [&](std::int64_t r, int stage) {
    if (r < n.rows) {
      const std::int64_t offset = r * n.features;
      for_vectors<V, Items, Group>(features, [&](int item, int at) {
        __pipeline_memcpy_async(slot(stage, 0, item), n.x + offset + at, 16);
        __pipeline_memcpy_async(slot(stage, 1, item), n.dy + offset + at, 16);
        if (arrays == 3) {
          __pipeline_memcpy_async(slot(stage, 2, item), n.other + offset + at, 16);
        }
      });
    }
    __pipeline_commit();
  };
  for (int s = 0; s + 1 < stages; ++s) fetch(first + s * stride, s);
  for (int i = static_cast<int>(threadIdx.x); i < features; i += kThreads) {
    float one[1];
    load_parameters<T>(n.scale, i, one, true);
    scales[i] = one[0];
  }
  __syncthreads();

  int stage = 0;
  for (std::int64_t r = first; r < n.rows; r += stride) {
    const std::int64_t offset = r * n.features;
    Vec<T, V> x[Items] = {};
    Vec<T, V> dy[Items] = {};
    if (stages > 0) {
      fetch(r + (stages - 1) * stride, stage == 0 ? stages - 1 : stage - 1);
      if (stages == 3) {
        __pipeline_wait_prior(2);
      } else {
        __pipeline_wait_prior(1);
      }
      for_vectors<V, Items, Group>(features, [&](int item, int) {
        x[item] = load_vec<V>(reinterpret_cast<const T*>(slot(stage, 0, item)));
        dy[item] = load_vec<V>(reinterpret_cast<const T*>(slot(stage, 1, item)));
      });
    } else {
      for_vectors<V, Items, Group>(features, [&](int item, int at) {
        x[item] = load_some<V>(n.x + offset + at, n.aligned);
        dy[item] = load_some<V>(n.dy + offset + at, n.aligned);
      });
    }

    RowScale<float> s;
    if (n.centered) {
      float sum = 0;
      for_vectors<V, Items, Group>(features, [&](int item, int) {
#pragma unroll
        for (int i = 0; i < V; ++i) sum += widen(x[item].lane[i]);
      });
      s.mean = rounded::mul(group_sum<Group>(sum), share);
    }
    as_they_are(x);
    float sums[3] = {};  // of squares, of dy by scale, of that by x
    for_vectors<V, Items, Group>(features, [&](int item, int at) {
#pragma unroll
      for (int half = 0; half < V; half += 4) {
        const Vec<float, 4> scale = load_vec<4>(scales + at + half);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float off = rounded::sub(widen(x[item].lane[half + i]), s.mean);
          const float scaled = rounded::mul(widen(dy[item].lane[half + i]), scale.lane[i]);
          sums[0] = rounded::fma(off, off, sums[0]);
          sums[1] = rounded::add(sums[1], scaled);
          sums[2] = rounded::fma(scaled, off, sums[2]);
        }
      }
    });
    group_sums<Group>(sums);
    as_they_are(x);
    as_they_are(dy);
    s.inverse = inverse_root(sums[0], share, n.epsilon);
    // dx = inverse * (dy by scale - its mean - normal * the mean of that by normal)
    const float mean = n.centered ? rounded::mul(sums[1], share) : 0.0F;
    const float along = rounded::mul(rounded::mul(sums[2], s.inverse), share);
    const float level = -rounded::mul(s.inverse, mean);
    const float slope = -rounded::mul(s.inverse, along);

    for_vectors<V, Items, Group>(features, [&](int item, int at) {
      float dx[V];
#pragma unroll
      for (int half = 0; half < V; half += 4) {
        const Vec<float, 4> scale = load_vec<4>(scales + at + half);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int e = half + i;
          const float d = widen(dy[item].lane[e]);
          const float normal = normalised(widen(x[item].lane[e]), s);
          dscale[item * V + e] = rounded::fma(d, normal, dscale[item * V + e]);
          dbias[item * V + e] = rounded::add(dbias[item * V + e], d);
          const float scaled = rounded::mul(d, scale.lane[i]);
          dx[e] = rounded::fma(normal, slope, rounded::fma(scaled, s.inverse, level));
        }
      }
      const Vec<T, V> narrow_dx = narrow_all<T>(dx);
      if (n.dx != nullptr) store_some(n.dx + offset + at, narrow_dx, n.aligned);
      if (arrays == 3) {
        const Vec<T, V> other = stages > 0
                                    ? load_vec<V>(reinterpret_cast<const T*>(slot(stage, 2, item)))
                                    : load_some<V>(n.other + offset + at, n.aligned);
#pragma unroll
        for (int i = 0; i < V; ++i) {
          dx[i] = rounded::add(widen(narrow_dx.lane[i]), widen(other.lane[i]));
        }
        store_some(n.total + offset + at, narrow_all<T>(dx), n.aligned);
      }
    });
    if (stages > 0) stage = stage + 1 == stages ? 0 : stage + 1;
  }

  float* const part = parts + static_cast<std::int64_t>(blockIdx.x) * 2 * features;
  if constexpr (kGroups == 1) {
    for_vectors<V, Items, Group>(features, [&](int item, int at) {
#pragma unroll
      for (int i = 0; i < V; ++i) {
        part[at + i] = dscale[item * V + i];
        part[features + at + i] = dbias[item * V + i];
      }
    });
  } else {
    // The groups' sums, where their rows were: there is room for all columns or for some.
    constexpr int kColumns = Group * V;
    const int some = stages > 0 ? Items : 1;
    const int width = some * kColumns;
    auto* const sums = reinterpret_cast<float*>(buffers);  // [kGroups, 2, width]
    __pipeline_wait_prior(0);
    for (int begin = 0; begin < Items; begin += some) {
      __syncthreads();
#pragma unroll
      for (int item = 0; item < Items; ++item) {
        if (item < begin || item >= begin + some) continue;
        float* const mine = sums + group * 2 * width + (item - begin) * kColumns + lane * V;
#pragma unroll
        for (int i = 0; i < V; i += 4) {
          const float* from = dscale + item * V + i;
          *reinterpret_cast<float4*>(mine + i) = make_float4(from[0], from[1], from[2], from[3]);
          from = dbias + item * V + i;
          *reinterpret_cast<float4*>(mine + width + i) =
              make_float4(from[0], from[1], from[2], from[3]);
        }
      }
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.x); i < 2 * width; i += kThreads) {
        const bool bias = i >= width;
        const int column = begin * kColumns + (bias ? i - width : i);
        if (column >= features) continue;
        float sum = sums[i];
#pragma unroll
        for (int g = 1; g < kGroups; ++g) sum += sums[g * 2 * width + i];
        part[(bias ? features : 0) + column] = sum;
      }
    }
  }
}

/// Bytes of shared memory that norm_grad_rows takes with so many stages.
template <typename T, int Items, int Group>
std::size_t norm_grad_shared(const NormGrad<T>& n, int stages) {
  constexpr HeldRows kCut(Items, kVector<T>, Group);
  const int arrays = n.other == nullptr ? 2 : 3;
  const auto staged = static_cast<std::size_t>(stages * arrays * Items * 16 * kCut.threads);
  const std::size_t sums =
      kCut.threads == Group ? 0 : sizeof(float) * 2 * kVector<T> * kCut.threads;
  return static_cast<std::size_t>((n.features + 3) / 4) * 16 + std::max(staged, sums);
}

}  // namespace plimsoll::cuda

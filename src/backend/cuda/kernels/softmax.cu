// softmax, log_softmax and their gradients. Rows (the last dimension) are held in registers where
// they fit; lines along another dimension are read twice. Results may be written over the inputs:
// who writes an element has read it.
#include "backend/cuda/kernels/softmax.cuh"

#include <plimsoll/backend/common/around.h>

#include "backend/cuda/kernels/kernels.h"

namespace plimsoll::cuda {
namespace {

using Lines = backend::Around;

template <typename T, int V, int Items, int Group>
__global__ void __launch_bounds__(kBlockOf<Group>)
    softmax_rows(T* to, const T* from, std::int64_t rows, std::int64_t extent, bool log_of,
                 bool aligned) {
  using A = Acc<T>;
  for (std::int64_t r = first_row<Group>(); r < rows; r += row_stride<Group>()) {
    const Row<T, V, Items, Group> row(from + r * extent, extent, aligned);
    const RowExp<A> sum = row_exp(row, extent);
    const A scale = A(1) / sum.total;
    const A shift = log_of ? log(sum.total) : A(0);
    for_vectors<V, Items, Group>(extent, [&](int item, std::int64_t at) {
      const auto x = row.get(item, at);
      Vec<T, V> y;
#pragma unroll
      for (int i = 0; i < V; ++i) {
        const A off = widen(x.lane[i]) - sum.largest;
        y.lane[i] = narrow<T>(log_of ? off - shift : exp(off) * scale);
      }
      store_some(to + r * extent + at, y, aligned);
    });
  }
}

template <typename T, int V, int Items, int Group>
__global__ void __launch_bounds__(kBlockOf<Group>)
    softmax_grad_rows(T* dx, const T* dy, const T* y, std::int64_t rows, std::int64_t extent,
                      bool log_of, bool aligned) {
  using A = Acc<T>;
  for (std::int64_t r = first_row<Group>(); r < rows; r += row_stride<Group>()) {
    const Row<T, V, Items, Group> d(dy + r * extent, extent, aligned);
    const Row<T, V, Items, Group> value(y + r * extent, extent, aligned);
    A total = 0;
    for_vectors<V, Items, Group>(extent, [&](int item, std::int64_t at) {
      const auto ds = d.get(item, at);
      const auto ys = value.get(item, at);
#pragma unroll
      for (int i = 0; i < V; ++i) {
        total += log_of ? widen(ds.lane[i]) : widen(ds.lane[i]) * widen(ys.lane[i]);
      }
    });
    total = group_sum<Group>(total);
    for_vectors<V, Items, Group>(extent, [&](int item, std::int64_t at) {
      const auto ds = d.get(item, at);
      const auto ys = value.get(item, at);
      Vec<T, V> to;
#pragma unroll
      for (int i = 0; i < V; ++i) {
        const A di = widen(ds.lane[i]);
        const A yi = widen(ys.lane[i]);
        to.lane[i] = narrow<T>(log_of ? di - exp(yi) * total : yi * (di - total));
      }
      store_some(dx + r * extent + at, to, aligned);
    });
  }
}

constexpr int kColumns = 32;
constexpr int kLanes = 8;

/// The first element of this thread's line, or -1 if there is none: neighbours in threadIdx.x have
/// neighbouring lines.
__device__ __forceinline__ std::int64_t line_start(const Lines& lines, std::int64_t block) {
  const std::int64_t line = block * kColumns + threadIdx.x;
  if (line >= lines.outer * lines.inner) return -1;
  return line / lines.inner * lines.extent * lines.inner + line % lines.inner;
}
__device__ __forceinline__ std::int64_t line_blocks(const Lines& lines) {
  return (lines.outer * lines.inner + kColumns - 1) / kColumns;
}

template <typename T>
__global__ void __launch_bounds__(kColumns* kLanes)
    softmax_lines(T* to, const T* from, Lines lines, bool log_of) {
  using A = Acc<T>;
  __shared__ RowExp<A> parts[kLanes][kColumns];
  for (std::int64_t block = blockIdx.x; block < line_blocks(lines); block += gridDim.x) {
    const std::int64_t start = line_start(lines, block);
    RowExp<A> sum{RowExp<A>::none(), A(0)};
    if (start >= 0) {
      for (std::int64_t j = threadIdx.y; j < lines.extent; j += kLanes) {
        const A x[1] = {widen(from[start + j * lines.inner])};
        sum.add(x);
      }
    }
    parts[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      sum.largest = Largest::of(sum.largest, parts[i][threadIdx.x].largest);
    }
    sum.total = 0;
#pragma unroll
    for (int i = 0; i < kLanes; ++i) sum.total += parts[i][threadIdx.x].total_for(sum.largest);
    __syncthreads();
    if (start < 0) continue;
    const A settled = log_of ? log(sum.total) : A(1) / sum.total;
    for (std::int64_t j = threadIdx.y; j < lines.extent; j += kLanes) {
      const std::int64_t at = start + j * lines.inner;
      const A off = widen(from[at]) - sum.largest;
      to[at] = narrow<T>(log_of ? off - settled : exp(off) * settled);
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(kColumns* kLanes)
    softmax_grad_lines(T* dx, const T* dy, const T* y, Lines lines, bool log_of) {
  using A = Acc<T>;
  __shared__ A parts[kLanes][kColumns];
  for (std::int64_t block = blockIdx.x; block < line_blocks(lines); block += gridDim.x) {
    const std::int64_t start = line_start(lines, block);
    A total = 0;
    if (start >= 0) {
      for (std::int64_t j = threadIdx.y; j < lines.extent; j += kLanes) {
        const std::int64_t at = start + j * lines.inner;
        total += log_of ? widen(dy[at]) : widen(dy[at]) * widen(y[at]);
      }
    }
    parts[threadIdx.y][threadIdx.x] = total;
    __syncthreads();
    total = 0;
#pragma unroll
    for (int i = 0; i < kLanes; ++i) total += parts[i][threadIdx.x];
    __syncthreads();
    if (start < 0) continue;
    for (std::int64_t j = threadIdx.y; j < lines.extent; j += kLanes) {
      const std::int64_t at = start + j * lines.inner;
      const A d = widen(dy[at]);
      const A value = widen(y[at]);
      dx[at] = narrow<T>(log_of ? d - exp(value) * total : value * (d - total));
    }
  }
}

Lines lines_of(const KernelContext& k) {
  return backend::around(k.out(0).shape(), k.attributes.integer("axis"));
}

unsigned blocks_for_lines(const Lines& lines) {
  return blocks_for(lines.outer * lines.inner, kColumns, std::int64_t{1} << 30);
}

void run_softmax(const KernelContext& k, bool log_of) {
  if (k.out(0).elements() == 0) return;
  const Lines lines = lines_of(k);
  with_float(k.out(0).dtype(), [&]<typename T>() {
    const T* from = k.in(0).as<const T>();
    T* to = k.out(0).as<T>();
    if (lines.inner == 1) {
      with_held_rows<T>(lines.extent, [&]<int V, int Items, int Group>() {
        softmax_rows<T, V, Items, Group>
            <<<blocks_for_rows<Group>(lines.outer), kBlockOf<Group>, 0, queue_of(k)>>>(
                to, from, lines.outer, lines.extent, log_of, all_aligned({to, from}));
      });
    } else {
      softmax_lines<T><<<blocks_for_lines(lines), dim3(kColumns, kLanes), 0, queue_of(k)>>>(
          to, from, lines, log_of);
    }
  });
  check_launch(log_of ? "log_softmax" : "softmax");
}

void run_softmax_grad(const KernelContext& k, bool log_of) {
  if (k.out(0).elements() == 0) return;
  const Lines lines = lines_of(k);
  with_float(k.out(0).dtype(), [&]<typename T>() {
    const T* dy = k.in(0).as<const T>();
    const T* y = k.in(1).as<const T>();
    T* dx = k.out(0).as<T>();
    if (lines.inner == 1) {
      with_held_rows<T>(lines.extent, [&]<int V, int Items, int Group>() {
        softmax_grad_rows<T, V, Items, Group>
            <<<blocks_for_rows<Group>(lines.outer), kBlockOf<Group>, 0, queue_of(k)>>>(
                dx, dy, y, lines.outer, lines.extent, log_of, all_aligned({dx, dy, y}));
      });
    } else {
      softmax_grad_lines<T><<<blocks_for_lines(lines), dim3(kColumns, kLanes), 0, queue_of(k)>>>(
          dx, dy, y, lines, log_of);
    }
  });
  check_launch(log_of ? "log_softmax_grad" : "softmax_grad");
}

void add_kernels(KernelTable& table) {
  table.add("softmax", {[](const KernelContext& k) { run_softmax(k, false); }});
  table.add("softmax_grad", {[](const KernelContext& k) { run_softmax_grad(k, false); }});
  table.add("log_softmax", {[](const KernelContext& k) { run_softmax(k, true); }});
  table.add("log_softmax_grad", {[](const KernelContext& k) { run_softmax_grad(k, true); }});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda

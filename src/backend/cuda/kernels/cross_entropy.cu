// Cross-entropy from logits. Rows are read twice, the second time from a cache. Gradients may be
// written over the logits: who writes an element has read it. A label outside the classes gives
// NaN.
#include <plimsoll/ops/softmax.h>

#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/softmax.cuh"

namespace plimsoll::cuda {
namespace {

/// i64 or i32.
struct Labels {
  const void* data;
  bool wide;

  __device__ __forceinline__ std::int64_t operator[](std::int64_t i) const {
    return wide ? static_cast<const std::int64_t*>(data)[i]
                : static_cast<const std::int32_t*>(data)[i];
  }
};
Labels labels_of(const TensorView& view) { return {view.data, view.dtype() == DType::i64}; }

template <typename A>
__device__ __forceinline__ A not_a_number() {
  return static_cast<A>(CUDART_NAN_F);
}

template <typename T, int V, int Group>
__global__ void __launch_bounds__(kBlockOf<Group>)
    losses(Acc<T>* loss, const T* logits, Labels labels, std::int64_t rows, std::int64_t classes,
           Acc<T> smoothing, bool aligned) {
  using A = Acc<T>;
  for (std::int64_t r = first_row<Group>(); r < rows; r += row_stride<Group>()) {
    const std::int64_t label = labels[r];
    if (label < 0 || label >= classes) {
      if (threadIdx.x % Group == 0) {
        loss[r] = label == ops::kIgnoreLabel ? A(0) : not_a_number<A>();
      }
      continue;
    }
    const Row<T, V, 0, Group> row(logits + r * classes, classes, aligned);
    const RowExp<A> sum = row_exp(row, classes);
    const A at_label = widen(logits[r * classes + label]) - sum.largest;
    A result = log(sum.total) - at_label;
    if (smoothing != A(0)) {
      A total = 0;
      for_vectors<V, 0, Group>(classes, [&](int item, std::int64_t at) {
        const auto x = row.get(item, at);
        // Relative to the largest, so that nothing is lost where all are large.
#pragma unroll
        for (int i = 0; i < V; ++i) total += widen(x.lane[i]) - sum.largest;
      });
      total = group_sum<Group>(total);
      result += smoothing * (at_label - total / static_cast<A>(classes));
    }
    if (threadIdx.x % Group == 0) loss[r] = result;
  }
}

template <typename T, int V, int Group>
__global__ void __launch_bounds__(kBlockOf<Group>)
    loss_gradients(T* dx, const T* logits, Labels labels, const Acc<T>* dloss, std::int64_t rows,
                   std::int64_t classes, Acc<T> smoothing, bool aligned) {
  using A = Acc<T>;
  const A share = smoothing / static_cast<A>(classes);
  for (std::int64_t r = first_row<Group>(); r < rows; r += row_stride<Group>()) {
    const std::int64_t label = labels[r];
    T* const to = dx + r * classes;
    if (label < 0 || label >= classes) {
      Vec<T, V> fill;
#pragma unroll
      for (int i = 0; i < V; ++i) {
        fill.lane[i] = narrow<T>(label == ops::kIgnoreLabel ? A(0) : not_a_number<A>());
      }
      for_vectors<V, 0, Group>(classes,
                               [&](int, std::int64_t at) { store_some(to + at, fill, aligned); });
      continue;
    }
    const Row<T, V, 0, Group> row(logits + r * classes, classes, aligned);
    const RowExp<A> sum = row_exp(row, classes);
    const A scale = A(1) / sum.total;
    const A d = dloss[r];
    for_vectors<V, 0, Group>(classes, [&](int item, std::int64_t at) {
      const auto x = row.get(item, at);
      Vec<T, V> g;
#pragma unroll
      for (int i = 0; i < V; ++i) {
        A p = exp(widen(x.lane[i]) - sum.largest) * scale - share;
        if (at + i == label) p -= A(1) - smoothing;
        g.lane[i] = narrow<T>(p * d);
      }
      store_some(to + at, g, aligned);
    });
  }
}

template <typename T, int V, int Group>
__global__ void __launch_bounds__(kBlockOf<Group>)
    dense_losses(Acc<T>* loss, const T* logits, const T* targets, std::int64_t rows,
                 std::int64_t classes, bool aligned) {
  using A = Acc<T>;
  for (std::int64_t r = first_row<Group>(); r < rows; r += row_stride<Group>()) {
    const Row<T, V, 0, Group> row(logits + r * classes, classes, aligned);
    const Row<T, V, 0, Group> target(targets + r * classes, classes, aligned);
    const RowExp<A> sum = row_exp(row, classes);
    const A shift = log(sum.total);
    A total = 0;
    for_vectors<V, 0, Group>(classes, [&](int item, std::int64_t at) {
      const auto x = row.get(item, at);
      const auto t = target.get(item, at);
#pragma unroll
      for (int i = 0; i < V; ++i) {
        // A class without a share has none, even where its logit is minus infinity.
        const A ti = widen(t.lane[i]);
        total += ti == A(0) ? A(0) : ti * (shift - (widen(x.lane[i]) - sum.largest));
      }
    });
    total = group_sum<Group>(total);
    if (threadIdx.x % Group == 0) loss[r] = total;
  }
}

template <typename T, int V, int Group>
__global__ void __launch_bounds__(kBlockOf<Group>)
    dense_gradients(T* dx, const T* logits, const T* targets, const Acc<T>* dloss,
                    std::int64_t rows, std::int64_t classes, bool aligned) {
  using A = Acc<T>;
  for (std::int64_t r = first_row<Group>(); r < rows; r += row_stride<Group>()) {
    const Row<T, V, 0, Group> row(logits + r * classes, classes, aligned);
    const Row<T, V, 0, Group> target(targets + r * classes, classes, aligned);
    const RowExp<A> sum = row_exp(row, classes);
    A mass = 0;
    for_vectors<V, 0, Group>(classes, [&](int item, std::int64_t at) {
      const auto t = target.get(item, at);
#pragma unroll
      for (int i = 0; i < V; ++i) mass += widen(t.lane[i]);
    });
    const A scale = group_sum<Group>(mass) / sum.total;
    const A d = dloss[r];
    for_vectors<V, 0, Group>(classes, [&](int item, std::int64_t at) {
      const auto x = row.get(item, at);
      const auto t = target.get(item, at);
      Vec<T, V> g;
#pragma unroll
      for (int i = 0; i < V; ++i) {
        g.lane[i] = narrow<T>((exp(widen(x.lane[i]) - sum.largest) * scale - widen(t.lane[i])) * d);
      }
      store_some(dx + r * classes + at, g, aligned);
    });
  }
}

/// launch<T, V, Group>(rows, classes, blocks, threads), if there are rows.
template <typename Launch>
void over_rows(const KernelContext& k, const TensorView& losses, const char* who, Launch&& launch) {
  const std::int64_t rows = losses.elements();
  if (rows == 0) return;
  const std::int64_t classes = k.in(0).shape().dim(-1);
  with_float(k.in(0).dtype(), [&]<typename T>() {
    with_read_rows<T>(classes, [&]<int V, int Items, int Group>() {
      static_assert(Items == 0);
      launch.template operator()<T, V, Group>(rows, classes, blocks_for_rows<Group>(rows),
                                              kBlockOf<Group>);
    });
  });
  check_launch(who);
}

void run_cross_entropy(const KernelContext& k) {
  const double smoothing = k.attributes.number("smoothing");
  over_rows(k, k.out(0), "cross_entropy",
            [&]<typename T, int V, int Group>(std::int64_t rows, std::int64_t classes,
                                              unsigned blocks, int threads) {
              losses<T, V, Group><<<blocks, threads, 0, queue_of(k)>>>(
                  k.out(0).as<Acc<T>>(), k.in(0).as<const T>(), labels_of(k.in(1)), rows, classes,
                  static_cast<Acc<T>>(smoothing), all_aligned({k.in(0).data}));
            });
}

void run_cross_entropy_grad(const KernelContext& k) {
  const double smoothing = k.attributes.number("smoothing");
  over_rows(k, k.in(2), "cross_entropy_grad",
            [&]<typename T, int V, int Group>(std::int64_t rows, std::int64_t classes,
                                              unsigned blocks, int threads) {
              loss_gradients<T, V, Group><<<blocks, threads, 0, queue_of(k)>>>(
                  k.out(0).as<T>(), k.in(0).as<const T>(), labels_of(k.in(1)),
                  k.in(2).as<const Acc<T>>(), rows, classes, static_cast<Acc<T>>(smoothing),
                  all_aligned({k.in(0).data, k.out(0).data}));
            });
}

void run_cross_entropy_dense(const KernelContext& k) {
  over_rows(k, k.out(0), "cross_entropy_dense",
            [&]<typename T, int V, int Group>(std::int64_t rows, std::int64_t classes,
                                              unsigned blocks, int threads) {
              dense_losses<T, V, Group><<<blocks, threads, 0, queue_of(k)>>>(
                  k.out(0).as<Acc<T>>(), k.in(0).as<const T>(), k.in(1).as<const T>(), rows,
                  classes, all_aligned({k.in(0).data, k.in(1).data}));
            });
}

void run_cross_entropy_dense_grad(const KernelContext& k) {
  over_rows(k, k.in(2), "cross_entropy_dense_grad",
            [&]<typename T, int V, int Group>(std::int64_t rows, std::int64_t classes,
                                              unsigned blocks, int threads) {
              dense_gradients<T, V, Group><<<blocks, threads, 0, queue_of(k)>>>(
                  k.out(0).as<T>(), k.in(0).as<const T>(), k.in(1).as<const T>(),
                  k.in(2).as<const Acc<T>>(), rows, classes,
                  all_aligned({k.in(0).data, k.in(1).data, k.out(0).data}));
            });
}

void add_kernels(KernelTable& table) {
  table.add("cross_entropy", {run_cross_entropy});
  table.add("cross_entropy_grad", {run_cross_entropy_grad});
  table.add("cross_entropy_dense", {run_cross_entropy_dense});
  table.add("cross_entropy_dense_grad", {run_cross_entropy_dense_grad});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda

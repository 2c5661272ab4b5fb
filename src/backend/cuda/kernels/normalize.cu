// layer_norm and rms_norm: the same, the latter without a mean. One read and one write of x where a
// row fits in registers. The result may be written over x: who writes an element has read it.
#include "backend/cuda/kernels/normalize.cuh"

#include "backend/cuda/kernels/kernels.h"

namespace plimsoll::cuda {
namespace {

template <typename T>
struct Norm {
  T* y;
  const T* x;
  Parameters scale;
  Parameters bias;  ///< null without one
  std::int64_t rows;
  std::int64_t features;
  Acc<T> epsilon;
  bool centered;
  bool aligned = false;
  /// If not null, x + other is normalised, rounded first, and goes to `sum` if that is not null.
  const T* other = nullptr;
  T* sum = nullptr;
};

template <typename T, int V, int Items, int Group>
__global__ void __launch_bounds__(kBlockOf<Group>) norm_rows(const Norm<T> n) {
  using A = Acc<T>;
  for (std::int64_t r = first_row<Group>(); r < n.rows; r += row_stride<Group>()) {
    const std::int64_t offset = r * n.features;
    Row<T, V, Items, Group> row(n.x + offset, n.features, n.aligned);
    if constexpr (Items > 0) {
      if (n.other != nullptr) {
        row.add(n.other + offset, n.features);
        if (n.sum != nullptr) row.store(n.sum + offset, n.features);
      }
    }
    const RowScale<A> s = row_scale(row, n.features, n.epsilon, n.centered);
    for_vectors<V, Items, Group>(n.features, [&](int item, std::int64_t at) {
      const auto x = row.get(item, at);
      A scale[V];
      A bias[V] = {};
      load_parameters<T>(n.scale, at, scale, n.aligned);
      if (n.bias.data != nullptr) load_parameters<T>(n.bias, at, bias, n.aligned);
      Vec<T, V> y;
#pragma unroll
      for (int i = 0; i < V; ++i) {
        y.lane[i] = narrow<T>(rounded::fma(normalised(widen(x.lane[i]), s), scale[i], bias[i]));
      }
      store_some(n.y + offset + at, y, n.aligned);
    });
  }
}

template <typename T>
Norm<T> norm_of(const KernelContext& k, bool centered) {
  const DType dtype = k.in(0).dtype();
  const std::int64_t features = k.in(0).shape().dim(-1);
  return {.y = k.out(0).as<T>(),
          .x = k.in(0).as<const T>(),
          .scale = parameters_of(k.in(1), dtype),
          .bias = k.inputs.size() > 2 ? parameters_of(k.in(2), dtype) : Parameters{},
          .rows = k.in(0).elements() / features,
          .features = features,
          .epsilon = static_cast<Acc<T>>(k.attributes.number("epsilon")),
          .centered = centered};
}

template <typename T>
void launch(Norm<T> n, cudaStream_t queue) {
  n.aligned = all_aligned({n.y, n.x, n.scale.data, n.bias.data, n.other, n.sum});
  with_held_rows<T>(n.features, [&]<int V, int Items, int Group>() {
    norm_rows<T, V, Items, Group><<<blocks_for_rows<Group>(n.rows), kBlockOf<Group>, 0, queue>>>(n);
  });
}

void run_norm(const KernelContext& k, bool centered) {
  if (k.out(0).elements() == 0) return;
  with_float(k.in(0).dtype(), [&]<typename T>() { launch(norm_of<T>(k, centered), queue_of(k)); });
  check_launch(centered ? "layer_norm" : "rms_norm");
}

/// Rows are held: the pattern has no others.
void run_add_norm(std::span<const ops::OpDef* const> ops, std::span<const KernelContext> calls,
                  bool between) {
  const KernelContext& sum = calls[0];
  with_float(sum.in(0).dtype(), [&]<typename T>() {
    Norm<T> n = norm_of<T>(calls[1], ops[1]->name == "layer_norm");
    n.x = sum.in(0).as<const T>();
    n.other = sum.in(1).as<const T>();
    if (between) n.sum = sum.out(0).as<T>();
    launch(n, queue_of(sum));
  });
  check_launch("add, norm");
}

void add_kernels(KernelTable& table) {
  table.add("layer_norm", {[](const KernelContext& k) { run_norm(k, true); }});
  table.add("rms_norm", {[](const KernelContext& k) { run_norm(k, false); }});
  table.add_fused("add, norm", run_add_norm);
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda

// layer_norm and rms_norm: the same, the latter without a mean. One read and one write of x where a
// row fits in registers. The result may be written over x: who writes an element has read it.
#include "backend/cuda/normalize.cuh"

#include "backend/cuda/kernels.h"

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
};

template <typename T, int V, int Items, int Group>
__global__ void __launch_bounds__(kBlockOf<Group>) norm_rows(const Norm<T> n) {
  using A = Acc<T>;
  for (std::int64_t r = first_row<Group>(); r < n.rows; r += row_stride<Group>()) {
    const std::int64_t offset = r * n.features;
    const Row<T, V, Items, Group> row(n.x + offset, n.features, n.aligned);
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

void run_norm(const KernelContext& k, bool centered) {
  if (k.out(0).elements() == 0) return;
  const std::int64_t features = k.in(0).shape().dim(-1);
  const std::int64_t rows = k.in(0).elements() / features;
  with_float(k.in(0).dtype(), [&]<typename T>() {
    const DType dtype = k.in(0).dtype();
    Norm<T> n{.y = k.out(0).as<T>(),
              .x = k.in(0).as<const T>(),
              .scale = parameters_of(k.in(1), dtype),
              .bias = k.inputs.size() > 2 ? parameters_of(k.in(2), dtype) : Parameters{},
              .rows = rows,
              .features = features,
              .epsilon = static_cast<Acc<T>>(k.attributes.number("epsilon")),
              .centered = centered};
    n.aligned = all_aligned({n.y, n.x, n.scale.data, n.bias.data});
    with_held_rows<T>(features, [&]<int V, int Items, int Group>() {
      norm_rows<T, V, Items, Group>
          <<<blocks_for_rows<Group>(rows), kBlockOf<Group>, 0, queue_of(k)>>>(n);
    });
  });
  check_launch(centered ? "layer_norm" : "rms_norm");
}

}  // namespace

void add_normalize_kernels(KernelTable& table) {
  table.add("layer_norm", {[](const KernelContext& k) { run_norm(k, true); }});
  table.add("rms_norm", {[](const KernelContext& k) { run_norm(k, false); }});
  add_normalize_grad_kernels(table);
}

}  // namespace plimsoll::cuda

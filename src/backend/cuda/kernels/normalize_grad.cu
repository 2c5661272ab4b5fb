// The gradients of layer_norm and rms_norm. dx may be written over dy or x: who writes an element
// has read it.
//
// Rows that fit in registers: norm_grad_rows(), then sum_parts() for what its blocks have. Others:
// each row's statistics first, then the columns in a second pass.
#include "backend/cuda/kernels/column_sums.cuh"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/normalize_grad_rows.cuh"

namespace plimsoll::cuda {
namespace {

/// What a row's gradient needs of the whole row.
template <typename A>
struct RowSums {
  A mean, inverse, total, along;
};

template <typename T, int Group>
__global__ void __launch_bounds__(kBlockOf<Group>)
    norm_grad_sums(const NormGrad<T> n, RowSums<Acc<T>>* sums) {
  using A = Acc<T>;
  const A share = A(1) / static_cast<A>(n.features);
  for (std::int64_t r = first_row<Group>(); r < n.rows; r += row_stride<Group>()) {
    const std::int64_t offset = r * n.features;
    const Row<T, 1, 0, Group> x(n.x + offset, n.features, true);
    const RowScale<A> s = row_scale(x, n.features, n.epsilon, n.centered);
    A total = 0;
    A along = 0;
    for_vectors<1, 0, Group>(n.features, [&](int, std::int64_t at) {
      A scale[1];
      load_parameters<T>(n.scale, at, scale, true);
      const A scaled = widen(n.dy[offset + at]) * scale[0];
      total += scaled;
      along += scaled * ((widen(n.x[offset + at]) - s.mean) * s.inverse);
    });
    total = n.centered ? group_sum<Group>(total) * share : A(0);
    along = group_sum<Group>(along) * share;
    if (threadIdx.x % Group == 0) sums[r] = {s.mean, s.inverse, total, along};
  }
}

/// A column and a chunk (blockIdx.y) of the rows per thread column. The chunk's sums go to
/// parts[chunk], on top of what is there if `more`; without parts to dscale and dbias.
template <typename T>
__global__ void __launch_bounds__(kSumColumns* kSumLanes)
    norm_grad_columns(const NormGrad<T> n, const RowSums<Acc<T>>* sums, Acc<T>* parts, bool more,
                      SumsTo dscale_to, SumsTo dbias_to) {
  using A = Acc<T>;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kSumColumns + threadIdx.x;
  const std::int64_t begin = n.rows * blockIdx.y / gridDim.y;
  const std::int64_t end = n.rows * (blockIdx.y + 1) / gridDim.y;
  A dscale = 0;
  A dbias = 0;
  if (column < n.features) {
    A scale[1];
    load_parameters<T>(n.scale, column, scale, true);
    for (std::int64_t r = begin + threadIdx.y; r < end; r += kSumLanes) {
      const RowSums<A> s = sums[r];
      const std::int64_t at = r * n.features + column;
      const A d = widen(n.dy[at]);
      const A normal = (widen(n.x[at]) - s.mean) * s.inverse;
      dscale += d * normal;
      dbias += d;
      n.dx[at] = narrow<T>(s.inverse * (d * scale[0] - s.total - normal * s.along));
    }
  }
  dscale = sum_of_lanes(dscale);
  dbias = sum_of_lanes(dbias);
  if (threadIdx.y != 0 || column >= n.features) return;
  if (parts == nullptr) {
    store_sum<T>(dscale_to, column, dscale);
    store_sum<T>(dbias_to, column, dbias);
    return;
  }
  A* part = parts + static_cast<std::int64_t>(blockIdx.y) * 2 * n.features;
  part[column] = more ? part[column] + dscale : dscale;
  part[n.features + column] = more ? part[n.features + column] + dbias : dbias;
}

/// What depends on the shape: made by prepare() and again by run().
struct Plan {
  bool held = false;       ///< rows are held in registers
  int each = 0;            ///< then: elements per thread, 8, 16, 24 or 32
  int group = 32;          ///< and threads per row
  std::int64_t parts = 0;  ///< sums of blocks or of chunks; 0: straight to the outputs
  std::int64_t slab = 0;   ///< rows at a time, if they are not held
  Bytes workspace = 0;
};

Plan plan_for(std::int64_t rows, std::int64_t features, DType dtype) {
  Plan plan;
  const auto wide = static_cast<std::int64_t>(dtype == DType::f64 ? sizeof(double) : sizeof(float));
  const std::int64_t sums = 2 * features * wide;
  const auto vector = static_cast<std::int64_t>(16 / dtype_size(dtype));
  if (dtype != DType::f64 && features % vector == 0 && features <= 8192) {
    plan.held = true;
    plan.group = features <= 1024 ? 32 : 256;
    const std::int64_t each = (features + plan.group - 1) / plan.group;
    plan.each = each <= 8 ? 8 : each <= 16 ? 16 : each <= 24 && plan.group == 32 ? 24 : 32;
    const HeldRows cut(plan.each / static_cast<int>(vector), static_cast<int>(vector), plan.group);
    const std::int64_t groups = cut.threads / plan.group;
    plan.parts = std::clamp<std::int64_t>((rows + groups - 1) / groups, 1, 132 * cut.blocks);
    plan.workspace = static_cast<Bytes>(plan.parts * sums);
    return plan;
  }
  constexpr std::int64_t kSlab = std::int64_t{1} << 18;
  constexpr auto kPartsBytes = static_cast<std::int64_t>(MiB(16));
  plan.slab = std::min(rows, kSlab);
  if (sums <= kPartsBytes) {
    plan.parts = std::clamp<std::int64_t>(std::min(plan.slab / 32, kPartsBytes / sums), 1, 1024);
  }
  plan.workspace = static_cast<Bytes>(plan.parts * sums + 4 * wide * plan.slab);
  return plan;
}

template <typename T, int Items, int Group>
void launch_held(const KernelContext& k, const NormGrad<T>& n, const Plan& plan) {
  constexpr HeldRows kCut(Items, kVector<T>, Group);
  constexpr const char* kWho = "normalisation's gradient";
  const auto kernel = norm_grad_rows<T, Items, Group>;
  // How far ahead rows are fetched changes no result.
  int device = 0;
  int most = 0;
  cudaFuncAttributes attributes;
  check(cudaGetDevice(&device), kWho);
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), kWho);
  check(cudaFuncGetAttributes(&attributes, kernel), kWho);
  most -= static_cast<int>(attributes.sharedSizeBytes);
  int stages = n.aligned ? kCut.stages : 0;
  const auto bytes = [&] { return norm_grad_shared<T, Items, Group>(n, stages); };
  while (stages > 0 && bytes() > static_cast<std::size_t>(most)) stages = stages == 3 ? 2 : 0;
  // The same for every call, as the attribute is the kernel's and not the launch's.
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most), kWho);
  kernel<<<static_cast<unsigned>(plan.parts), kCut.threads, bytes(), queue_of(k)>>>(
      n, static_cast<float*>(k.workspace), stages);
}

template <typename T>
void run_held(const KernelContext& k, const NormGrad<T>& n, const Plan& plan, SumsTo dscale,
              SumsTo dbias) {
  constexpr int V = kVector<T>;
  if (plan.group == 32) {
    if (plan.each == 8) {
      launch_held<T, 8 / V, 32>(k, n, plan);
    } else if (plan.each == 16) {
      launch_held<T, 16 / V, 32>(k, n, plan);
    } else if (plan.each == 24) {
      launch_held<T, 24 / V, 32>(k, n, plan);
    } else {
      launch_held<T, 32 / V, 32>(k, n, plan);
    }
  } else if (plan.each == 8) {
    launch_held<T, 8 / V, 256>(k, n, plan);
  } else if (plan.each == 16) {
    launch_held<T, 16 / V, 256>(k, n, plan);
  } else {
    launch_held<T, 32 / V, 256>(k, n, plan);
  }
  launch_sum_parts<T>(dscale, dbias, static_cast<const float*>(k.workspace),
                      static_cast<int>(plan.parts), n.features, queue_of(k));
}

template <typename T>
void run_columns(const KernelContext& k, const NormGrad<T>& n, const Plan& plan, SumsTo dscale,
                 SumsTo dbias) {
  using A = Acc<T>;
  auto* sums = static_cast<RowSums<A>*>(k.workspace);
  A* parts = plan.parts == 0 ? nullptr : reinterpret_cast<A*>(sums + plan.slab);
  const auto across = static_cast<unsigned>((n.features + kSumColumns - 1) / kSumColumns);
  const auto chunks = static_cast<unsigned>(std::max<std::int64_t>(plan.parts, 1));
  for (std::int64_t first = 0; first < n.rows; first += plan.slab) {
    NormGrad<T> some = n;
    some.dx += first * n.features;
    some.dy += first * n.features;
    some.x += first * n.features;
    some.rows = std::min(plan.slab, n.rows - first);
    if (n.features <= 1024) {
      norm_grad_sums<T, 32><<<blocks_for_rows<32>(some.rows), 256, 0, queue_of(k)>>>(some, sums);
    } else {
      norm_grad_sums<T, 512><<<blocks_for_rows<512>(some.rows), 512, 0, queue_of(k)>>>(some, sums);
    }
    norm_grad_columns<T><<<dim3(across, chunks), dim3(kSumColumns, kSumLanes), 0, queue_of(k)>>>(
        some, sums, parts, first != 0, dscale, dbias);
  }
  if (parts != nullptr) {
    launch_sum_parts<T>(dscale, dbias, parts, static_cast<int>(plan.parts), n.features,
                        queue_of(k));
  }
}

/// With `sum`, the call of the op add that follows, which reads dx; `dx` is whether others do.
void run_norm_grad(const KernelContext& k, bool centered, const KernelContext* sum = nullptr,
                   bool dx = true) {
  const char* const who = centered ? "layer_norm_grad" : "rms_norm_grad";
  const std::int64_t features = k.in(0).shape().dim(-1);
  if (features == 0) return;
  const std::int64_t rows = k.in(0).elements() / features;
  if (rows == 0) {
    for (const TensorView& gradient : k.outputs.subspan(1)) {
      check(cudaMemsetAsync(gradient.data, 0, gradient.type.bytes(), queue_of(k)), who);
    }
    return;
  }
  const DType dtype = k.in(0).dtype();
  const Plan plan = plan_for(rows, features, dtype);
  const SumsTo dscale = sums_to(k.out(1), dtype);
  const SumsTo dbias = k.outputs.size() > 2 ? sums_to(k.out(2), dtype) : SumsTo{};
  with_float(dtype, [&]<typename T>() {
    NormGrad<T> n{.dx = dx ? k.out(0).as<T>() : nullptr,
                  .dy = k.in(0).as<const T>(),
                  .x = k.in(1).as<const T>(),
                  .scale = parameters_of(k.in(2), dtype),
                  .rows = rows,
                  .features = features,
                  .epsilon = static_cast<Acc<T>>(k.attributes.number("epsilon")),
                  .centered = centered};
    if (sum != nullptr) {
      n.total = sum->out(0).as<T>();
      n.other = sum->in(sum->in(0).data == k.out(0).data ? 1 : 0).as<const T>();
    }
    n.aligned = all_aligned({n.dx, n.dy, n.x, n.scale.data, n.total, n.other});
    if constexpr (sizeof(T) < 8) {
      if (plan.held) return run_held<T>(k, n, plan, dscale, dbias);
    }
    run_columns<T>(k, n, plan, dscale, dbias);
  });
  check_launch(who);
}

std::shared_ptr<const ops::KernelState> prepare(const ops::OpInputs& inputs,
                                                std::span<const TensorType>) {
  auto state = std::make_shared<ops::KernelState>();
  const std::int64_t features = inputs.shape(0).dim(-1);
  const std::int64_t elements = inputs[0].elements();
  if (elements != 0) {
    state->workspace = plan_for(elements / features, features, inputs.dtype(0)).workspace;
  }
  return state;
}

void add_kernels(KernelTable& table) {
  table.add("layer_norm_grad", {[](const KernelContext& k) { run_norm_grad(k, true); }, prepare});
  table.add("rms_norm_grad", {[](const KernelContext& k) { run_norm_grad(k, false); }, prepare});
  // Rows are held: the pattern has no others.
  table.add_fused("norm_grad, add", [](std::span<const ops::OpDef* const> ops,
                                       std::span<const KernelContext> calls, bool between) {
    run_norm_grad(calls[0], ops[0]->name == "layer_norm_grad", &calls[1], between);
  });
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda

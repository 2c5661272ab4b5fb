// The steps of optimizers, in place: parameter, state and gradient are read once, parameter and
// state written once. What comes from scalars on the device is computed once per block.
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/many.cuh"
#include "backend/cuda/kernels/optimizer_rules.cuh"

namespace plimsoll::cuda {
namespace {

template <int N, typename T>
__device__ __forceinline__ Vec<T, N> load_gradient(const Update<T>& u, std::int64_t at,
                                                   bool aligned) {
  if constexpr (sizeof(T) == 4) {
    Vec<T, N> result;
    if (u.gradient_dtype == DType::bf16) {
      const auto g = load_some<N>(static_cast<const __nv_bfloat16*>(u.gradient) + at, aligned);
#pragma unroll
      for (int i = 0; i < N; ++i) result.lane[i] = widen(g.lane[i]);
      return result;
    }
    if (u.gradient_dtype == DType::f16) {
      const auto g = load_some<N>(static_cast<const __half*>(u.gradient) + at, aligned);
#pragma unroll
      for (int i = 0; i < N; ++i) result.lane[i] = widen(g.lane[i]);
      return result;
    }
  }
  return load_some<N>(static_cast<const T*>(u.gradient) + at, aligned);
}

template <typename Rule, int N, typename T>
__device__ __forceinline__ void update_some(const Update<T>& u, std::int64_t at, bool aligned,
                                            const Settings<T>& c) {
  Vec<T, N> p = load_some<N>(u.p + at, aligned);
  Vec<T, N> first{};
  Vec<T, N> second{};
  if constexpr (Rule::kStates > 0) first = load_some<N>(u.first + at, aligned);
  if constexpr (Rule::kStates > 1) second = load_some<N>(u.second + at, aligned);
  const Vec<T, N> g = load_gradient<N>(u, at, aligned);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    Rule::template step<T>(p.lane[i], first.lane[i], second.lane[i], g.lane[i], c);
  }
  store_some(u.p + at, p, aligned);
  if constexpr (Rule::kStates > 0) store_some(u.first + at, first, aligned);
  if constexpr (Rule::kStates > 1) store_some(u.second + at, second, aligned);
}

/// Elements of the tensor by threads `thread`, `thread + stride` ... of those that work on it.
template <typename Rule, typename T>
__device__ __forceinline__ void update_tensor(const Update<T>& u, const Settings<T>& c,
                                              std::int64_t thread, std::int64_t stride) {
  constexpr int N = kVector<T>;
  const std::int64_t whole = u.elements / N;
  for (std::int64_t i = thread; i < whole; i += stride) {
    update_some<Rule, N>(u, i * N, u.aligned, c);
  }
  const std::int64_t rest = whole * N + thread;
  if (rest < u.elements) update_some<Rule, 1>(u, rest, true, c);
}

template <typename Rule, typename T>
__global__ void __launch_bounds__(kThreads) update_elements(const Update<T> u) {
  if (u.enable != nullptr && !*u.enable) return;
  update_tensor<Rule>(u, settings_of(u),
                      static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x,
                      static_cast<std::int64_t>(gridDim.x) * kThreads);
}

/// What differs between the updates of one launch.
template <typename T>
struct SmallUpdate {
  T* p;
  T* first;
  T* second;
  const void* gradient;
  std::uint32_t elements;
  DType gradient_dtype;
  bool aligned;
};
template <typename T>
using SmallUpdates = Many<SmallUpdate<T>, 72>;

template <typename Rule, typename T>
__global__ void __launch_bounds__(kThreads)
    update_many(const Update<T> common, const __grid_constant__ SmallUpdates<T> updates) {
  if (common.enable != nullptr && !*common.enable) return;
  const int which = updates.find(blockIdx.x);
  const SmallUpdate<T>& one = updates.entries[which];
  Update<T> u = common;
  u.p = one.p;
  u.first = one.first;
  u.second = one.second;
  u.gradient = one.gradient;
  u.gradient_dtype = one.gradient_dtype;
  u.elements = one.elements;
  u.aligned = one.aligned;
  const std::int64_t block = blockIdx.x - updates.first[which];
  const std::int64_t blocks = updates.first[which + 1] - updates.first[which];
  update_tensor<Rule>(u, settings_of(u), block * kThreads + threadIdx.x, blocks * kThreads);
}

template <typename T>
unsigned blocks_of(const Update<T>& u) {
  return blocks_for(u.elements / kVector<T> + 1, kThreads, 132 * 8);
}

template <typename Rule, typename T>
void update(const KernelContext& k) {
  const Update<T> u = update_of<Rule, T>(k);
  update_elements<Rule, T><<<blocks_of(u), kThreads, 0, queue_of(k)>>>(u);
}

/// Updates with the same attributes; those in a row that read the same scalars are one launch.
template <typename Rule, typename T>
void update_all(std::span<const KernelContext> calls) {
  Update<T> common{};
  SmallUpdates<T> updates;
  const auto flush = [&] {
    update_many<Rule, T><<<updates.blocks(), kThreads, 0, queue_of(calls[0])>>>(common, updates);
    check_launch("optimizer updates");
    updates.count = 0;
  };
  for (const KernelContext& k : calls) {
    const Update<T> u = update_of<Rule, T>(k);
    const bool same = u.rate == common.rate && u.step == common.step && u.enable == common.enable;
    if (updates.count > 0 && (!same || updates.full())) flush();
    if (updates.count == 0) common = u;
    updates.add({u.p, u.first, u.second, u.gradient, static_cast<std::uint32_t>(u.elements),
                 u.gradient_dtype, u.aligned},
                blocks_of(u));
  }
  if (updates.count > 0) flush();
}

template <typename Rule>
void run_update(const KernelContext& k) {
  if (k.in(0).elements() == 0) return;
  k.in(0).dtype() == DType::f64 ? update<Rule, double>(k) : update<Rule, float>(k);
  check_launch("optimizer update");
}

template <typename Rule>
bool run_all(std::string_view name, std::span<const ops::OpDef* const> ops,
             std::span<const KernelContext> calls) {
  if (ops[0]->name != name) return false;
  calls[0].in(0).dtype() == DType::f64 ? update_all<Rule, double>(calls)
                                       : update_all<Rule, float>(calls);
  return true;
}

void run_updates(std::span<const ops::OpDef* const> ops, std::span<const KernelContext> calls,
                 bool) {
  const bool known = run_all<Sgd>("sgd_update", ops, calls) ||
                     run_all<SgdMomentum>("sgd_momentum_update", ops, calls) ||
                     run_all<Adam>("adam_update", ops, calls) ||
                     run_all<Adagrad>("adagrad_update", ops, calls) ||
                     run_all<Rmsprop>("rmsprop_update", ops, calls) ||
                     run_all<RmspropMomentum>("rmsprop_momentum_update", ops, calls);
  if (!known) {
    throw InternalError("[cuda] no kernel for several " + std::string(ops[0]->name) + " at once");
  }
}

void add_kernels(KernelTable& table) {
  table.add("sgd_update", {run_update<Sgd>});
  table.add("sgd_momentum_update", {run_update<SgdMomentum>});
  table.add("adam_update", {run_update<Adam>});
  table.add("adagrad_update", {run_update<Adagrad>});
  table.add("rmsprop_update", {run_update<Rmsprop>});
  table.add("rmsprop_momentum_update", {run_update<RmspropMomentum>});
  table.add_fused("updates", run_updates);
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda

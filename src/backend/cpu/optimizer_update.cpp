#include <plimsoll/base/parallel.h>

#include "backend/cpu/optimizer_rules.h"

namespace plimsoll::cpu {
namespace {

constexpr std::int64_t kGrain = 16384;

template <typename Rule, typename T>
void update(const KernelContext& k) {
  constexpr int kGradient = Rule::kStates + 1;
  const Settings<T> settings = settings_of<T>(k, kGradient + 1);
  const std::int64_t elements = k.in(0).elements();
  const TensorView& gradient = k.in(kGradient);
  T* p = k.in(0).as<T>();
  T* a = Rule::kStates > 0 ? k.in(1).as<T>() : nullptr;
  T* b = Rule::kStates > 1 ? k.in(2).as<T>() : nullptr;
  // Rows begin at the same elements whatever the number of threads.
  const std::int64_t rows = (elements + kChunk - 1) / kChunk;
  parallel_for(rows, kGrain / kChunk, [&](std::int64_t first, std::int64_t last) {
    alignas(64) float wide[kChunk];
    for (std::int64_t row = first; row < last; ++row) {
      const std::int64_t at = row * kChunk;
      const std::int64_t count = std::min(kChunk, elements - at);
      const T* g = gradient.as<const T>() + at;
      if constexpr (std::is_same_v<T, float>) {
        if (gradient.dtype() != DType::f32) {
          widen_row(gradient.dtype(), gradient.as<const std::uint16_t>() + at, wide, count);
          g = wide;
        }
      }
      update_row<Rule, T>(p + at, a == nullptr ? a : a + at, b == nullptr ? b : b + at, g, count,
                          settings);
    }
  });
}

/// Rows are slices of the first dimension; those without a gradient are left out.
template <typename T>
void update_lazily(const KernelContext& k) {
  constexpr int kGradient = Adam::kStates + 1;
  const Settings<T> settings = settings_of<T>(k, kGradient + 1);
  const std::int64_t rows = k.in(0).shape()[0];
  const std::int64_t inner = rows == 0 ? 0 : k.in(0).elements() / rows;
  if (inner == 0) return;
  T* const p = k.in(0).as<T>();
  T* const a = k.in(1).as<T>();
  T* const b = k.in(2).as<T>();
  with_float(k.in(kGradient).dtype(), [&]<typename G>() {
    const G* const gradient = k.in(kGradient).as<const G>();
    parallel_for(rows, std::max<std::int64_t>(1, kGrain / inner),
                 [&](std::int64_t first, std::int64_t last) {
                   alignas(64) T wide[kChunk];
                   for (std::int64_t row = first; row < last; ++row) {
                     const G* const g = gradient + row * inner;
                     if (is_zero(g, inner)) continue;
                     for (std::int64_t at = 0; at < inner; at += kChunk) {
                       const std::int64_t count = std::min(kChunk, inner - at);
                       for (std::int64_t i = 0; i < count; ++i) {
                         wide[i] = static_cast<T>(widen(g[at + i]));
                       }
                       const std::int64_t from = row * inner + at;
                       update_row<Adam, T>(p + from, a + from, b + from, wide, count, settings);
                     }
                   }
                 });
  });
}

void run_lazy_adam(const KernelContext& k) {
  if (is_disabled(k)) return;
  k.in(0).dtype() == DType::f64 ? update_lazily<double>(k) : update_lazily<float>(k);
}

template <typename Rule>
void run_update(const KernelContext& k) {
  if (is_disabled(k)) return;
  k.in(0).dtype() == DType::f64 ? update<Rule, double>(k) : update<Rule, float>(k);
}

void add_kernels(KernelTable& table) {
  table.add("sgd_update", {run_update<Sgd>});
  table.add("sgd_momentum_update", {run_update<SgdMomentum>});
  table.add("adam_update", {run_update<Adam>});
  table.add("lazy_adam_update", {run_lazy_adam});
  table.add("adagrad_update", {run_update<Adagrad>});
  table.add("rmsprop_update", {run_update<Rmsprop>});
  table.add("rmsprop_momentum_update", {run_update<RmspropMomentum>});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu

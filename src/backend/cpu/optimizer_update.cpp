#include <cmath>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/chunks.h"

namespace plimsoll::cpu {
namespace {

constexpr std::int64_t kGrain = 16384;

/// What the rules below read, in the parameter's dtype.
template <typename T>
struct Settings {
  T rate, decay, shrink, momentum, nesterov, beta1, beta2, one_minus_beta1, one_minus_beta2,
      correction1, correction2, epsilon;
};

// Each rule changes element i of the parameter p and its state s, given its gradient g.

struct Sgd {
  static constexpr int kStates = 0;
  template <typename T>
  PLIMSOLL_INLINE static void step(T& p, T&, T&, T g, const Settings<T>& c) {
    p -= c.rate * (g + c.decay * p);
  }
};
struct SgdMomentum {
  static constexpr int kStates = 1;
  template <typename T>
  PLIMSOLL_INLINE static void step(T& p, T& velocity, T&, T g, const Settings<T>& c) {
    g += c.decay * p;
    velocity = c.momentum * velocity + g;
    const T ahead = g + c.momentum * velocity;
    p -= c.rate * (c.nesterov != T{0} ? ahead : velocity);
  }
};
struct Adam {
  static constexpr int kStates = 2;
  template <typename T>
  PLIMSOLL_INLINE static void step(T& p, T& first, T& second, T g, const Settings<T>& c) {
    g += c.decay * p;
    first = c.beta1 * first + c.one_minus_beta1 * g;
    second = c.beta2 * second + c.one_minus_beta2 * g * g;
    p = p * c.shrink -
        c.rate * (first * c.correction1) / (std::sqrt(second * c.correction2) + c.epsilon);
  }
};
struct Rmsprop {
  static constexpr int kStates = 1;
  template <typename T>
  PLIMSOLL_INLINE static void step(T& p, T& square, T&, T g, const Settings<T>& c) {
    g += c.decay * p;
    square = c.beta2 * square + c.one_minus_beta2 * g * g;
    p -= c.rate * g / std::sqrt(square + c.epsilon);
  }
};
struct RmspropMomentum {
  static constexpr int kStates = 2;
  template <typename T>
  PLIMSOLL_INLINE static void step(T& p, T& square, T& velocity, T g, const Settings<T>& c) {
    g += c.decay * p;
    square = c.beta2 * square + c.one_minus_beta2 * g * g;
    velocity = c.momentum * velocity + c.rate * g / std::sqrt(square + c.epsilon);
    p -= velocity;
  }
};

template <typename Rule, typename T>
PLIMSOLL_CLONES void update_row(T* PLIMSOLL_RESTRICT p, T* PLIMSOLL_RESTRICT a,
                                T* PLIMSOLL_RESTRICT b, const T* PLIMSOLL_RESTRICT g,
                                std::int64_t count, const Settings<T>& settings) {
  const Settings<T> c = settings;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    T unused{};
    T parameter = p[i];
    if constexpr (Rule::kStates == 0) {
      Rule::template step<T>(parameter, unused, unused, g[i], c);
    } else if constexpr (Rule::kStates == 1) {
      T first = a[i];
      Rule::template step<T>(parameter, first, unused, g[i], c);
      a[i] = first;
    } else {
      T first = a[i];
      T second = b[i];
      Rule::template step<T>(parameter, first, second, g[i], c);
      a[i] = first;
      b[i] = second;
    }
    p[i] = parameter;
  }
}

template <typename T>
Settings<T> settings_of(const KernelContext& k, int scalars_at) {
  const auto number = [&](std::string_view name) {
    return k.attributes.has(name) ? k.attributes.number(name) : 0.0;
  };
  const double rate = static_cast<double>(*k.in(scalars_at).as<const float>());
  const bool decoupled = k.attributes.has("decoupled") && k.attributes.flag("decoupled");
  const double decay = number("weight_decay");
  const double beta2 = k.attributes.has("decay") ? number("decay") : number("beta2");
  Settings<T> c{};
  c.rate = static_cast<T>(rate);
  c.decay = static_cast<T>(decoupled ? 0 : decay);
  c.shrink = static_cast<T>(decoupled ? 1 - rate * decay : 1);
  c.momentum = static_cast<T>(number("momentum"));
  c.nesterov = k.attributes.has("nesterov") && k.attributes.flag("nesterov") ? T{1} : T{0};
  c.beta1 = static_cast<T>(number("beta1"));
  c.beta2 = static_cast<T>(beta2);
  c.one_minus_beta1 = static_cast<T>(1 - number("beta1"));
  c.one_minus_beta2 = static_cast<T>(1 - beta2);
  c.epsilon = static_cast<T>(number("epsilon"));
  if (k.attributes.has("beta1")) {
    const double step = static_cast<double>(*k.in(scalars_at + 1).as<const float>());
    c.correction1 = static_cast<T>(1 / (1 - std::pow(number("beta1"), step)));
    c.correction2 = static_cast<T>(1 / (1 - std::pow(beta2, step)));
  }
  return c;
}

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

template <typename Rule>
void run_update(const KernelContext& k) {
  const TensorView& last = k.inputs.back();
  if (last.dtype() == DType::boolean && !*last.as<const bool>()) return;
  k.in(0).dtype() == DType::f64 ? update<Rule, double>(k) : update<Rule, float>(k);
}

void add_kernels(KernelTable& table) {
  table.add("sgd_update", {run_update<Sgd>});
  table.add("sgd_momentum_update", {run_update<SgdMomentum>});
  table.add("adam_update", {run_update<Adam>});
  table.add("rmsprop_update", {run_update<Rmsprop>});
  table.add("rmsprop_momentum_update", {run_update<RmspropMomentum>});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu

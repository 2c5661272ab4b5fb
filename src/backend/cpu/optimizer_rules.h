#pragma once

#include <algorithm>
#include <cmath>

#include "backend/cpu/chunks.h"
#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/row_math.h"

// The steps of optimizers for elements, for the kernels of whole parameters and of rows.

namespace plimsoll::cpu {
namespace {

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
struct Adagrad {
  static constexpr int kStates = 1;
  template <typename T>
  PLIMSOLL_INLINE static void step(T& p, T& sum, T&, T g, const Settings<T>& c) {
    g += c.decay * p;
    sum += g * g;
    p -= c.rate * (g / (std::sqrt(sum) + c.epsilon));
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

/// Whether all of a gradient's row is 0.
template <typename G>
bool is_zero(const G* row, std::int64_t count) {
  return std::all_of(row, row + count, [](G g) { return widen(g) == Acc<G>(0); });
}

/// Whether the step is left out.
inline bool is_disabled(const KernelContext& k) {
  const TensorView& last = k.inputs.back();
  return last.dtype() == DType::boolean && !*last.as<const bool>();
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
  if (k.attributes.has("lr_decay")) {
    const double before = static_cast<double>(*k.in(scalars_at + 1).as<const float>()) - 1;
    c.rate = static_cast<T>(rate / (1 + number("lr_decay") * before));
  }
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

}  // namespace
}  // namespace plimsoll::cpu

// Gated units and their gradients.
#include <plimsoll/ops/gated.h>

#include "backend/cpu/parts.h"

namespace plimsoll::cpu {
namespace {

using ops::Gate;

template <typename T>
struct Through {
  T value;
  T slope;
};

template <Gate G, typename T>
PLIMSOLL_INLINE Through<T> through(T g) {
  if constexpr (G == Gate::sigmoid) {
    const T s = math::sigmoid(g);
    return {s, s * (T{1} - s)};
  } else if constexpr (G == Gate::silu) {
    const T s = math::sigmoid(g);
    return {g * s, s * (T{1} + g * (T{1} - s))};
  } else if constexpr (G == Gate::gelu) {
    const T share = T(0.5) * (T{1} + math::erf(g * T(0.7071067811865476)));
    return {g * share, share + g * (T(0.3989422804014327) * math::exp(T(-0.5) * g * g))};
  } else if constexpr (G == Gate::relu) {
    return {g <= T{0} ? T{0} : g, g > T{0} ? T{1} : T{0}};  // NaN stays
  } else {
    return {g, T{1}};
  }
}

template <Gate G>
struct Gated {
  static constexpr std::array kIn = {1, 1};
  static constexpr std::array kOut = {1};
  template <typename T>
  PLIMSOLL_INLINE static Parts<T, 1> apply(T g, T x) {
    return {through<G>(g).value * x};
  }
};
template <Gate G>
struct GatedGrad {
  static constexpr std::array kIn = {1, 1, 1};
  static constexpr std::array kOut = {1, 1};
  template <typename T>
  PLIMSOLL_INLINE static Parts<T, 2> apply(T g, T x, T dy) {
    const Through<T> gate = through<G>(g);
    return {dy * x * gate.slope, dy * gate.value};
  }
};
template <Gate G>
struct Glu {
  static constexpr std::array kIn = {2};
  static constexpr std::array kOut = {1};
  template <typename T>
  PLIMSOLL_INLINE static Parts<T, 1> apply(T x, T g) {
    return {through<G>(g).value * x};
  }
};
template <Gate G>
struct GluGrad {
  static constexpr std::array kIn = {2, 1};
  static constexpr std::array kOut = {2};
  template <typename T>
  PLIMSOLL_INLINE static Parts<T, 2> apply(T x, T g, T dy) {
    const Through<T> gate = through<G>(g);
    return {dy * gate.value, dy * x * gate.slope};
  }
};

template <template <Gate> typename F>
Kernel of_gate() {
  return {[](const KernelContext& k) {
    with_float(k.in(0).dtype(), [&]<typename T>() {
      switch (static_cast<Gate>(k.attributes.integer("gate"))) {
        case Gate::sigmoid:
          return parts::run<F<Gate::sigmoid>, T>(k);
        case Gate::silu:
          return parts::run<F<Gate::silu>, T>(k);
        case Gate::gelu:
          return parts::run<F<Gate::gelu>, T>(k);
        case Gate::relu:
          return parts::run<F<Gate::relu>, T>(k);
        case Gate::linear:
          return parts::run<F<Gate::linear>, T>(k);
      }
    });
  }};
}

void add_kernels(KernelTable& table) {
  table.add("gated", of_gate<Gated>());
  table.add("gated_grad", of_gate<GatedGrad>());
  table.add("glu", of_gate<Glu>());
  table.add("glu_grad", of_gate<GluGrad>());
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu

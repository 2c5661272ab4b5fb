// Activations and their gradients.
#include "backend/cpu/loops.h"

namespace plimsoll::cpu {
namespace {

struct Relu {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    return x <= T{0} ? T{0} : x;  // NaN stays
  }
};
struct ReluGrad {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T y) {
    return y > T{0} ? dy : T{0};
  }
};
struct Elu {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x, T alpha, T) {
    return x > T{0} ? x : alpha * math::expm1(x);
  }
};
struct EluGrad {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T y, T alpha, T) {
    return y > T{0} ? dy : dy * (y + alpha);
  }
};
struct Sigmoid {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    return math::sigmoid(x);
  }
};
struct SigmoidGrad {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T y) {
    return dy * (y * (T{1} - y));
  }
};
struct Tanh {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    return math::tanh(x);
  }
};
struct TanhGrad {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T y) {
    return dy * (T{1} - y * y);
  }
};
struct Silu {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    return x * math::sigmoid(x);
  }
};
struct SiluGrad {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T x) {
    const T s = math::sigmoid(x);
    return dy * (s * (T{1} + x * (T{1} - s)));
  }
};
struct Softplus {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    const T positive = x < T{0} ? T{0} : x;
    return positive + math::log1p(math::exp(-math::abs(x)));
  }
};
struct SoftplusGrad {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T x) {
    return dy * math::sigmoid(x);
  }
};

struct Gelu {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    return T(0.5) * x * (T{1} + math::erf(x * T(0.7071067811865476)));
  }
};
struct GeluGrad {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T x) {
    const T cdf = T(0.5) * (T{1} + math::erf(x * T(0.7071067811865476)));
    const T density = T(0.3989422804014327) * math::exp(T(-0.5) * x * x);
    return dy * (cdf + x * density);
  }
};

/// The argument of the tanh form, sqrt(2 / pi) * (x + 0.044715 x^3).
template <typename T>
PLIMSOLL_INLINE T gelu_argument(T x) {
  return x * (T(0.7978845608028654) + T(0.035677408136300125) * x * x);
}
struct GeluTanh {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T x) {
    // 0.5 * (1 + tanh(a)) is a sigmoid.
    return x * math::sigmoid(T{2} * gelu_argument(x));
  }
};
struct GeluTanhGrad {
  template <typename T>
  PLIMSOLL_INLINE static T apply(T dy, T x) {
    const T s = math::sigmoid(T{2} * gelu_argument(x));
    const T slope = T(2 * 0.7978845608028654) + T(6 * 0.035677408136300125) * x * x;
    return dy * (s + x * (s * (T{1} - s)) * slope);
  }
};

Numbers number(const KernelContext& k, std::string_view name) {
  return {k.attributes.number(name)};
}

template <typename F, int Count>
Kernel floating() {
  return {[](const KernelContext& k) { run_float<F, Count>(k); }};
}

void add_kernels(KernelTable& table) {
  table.add("relu", floating<Relu, 1>());
  table.add("relu_grad", floating<ReluGrad, 2>());
  table.add("elu", {[](const KernelContext& k) { run_float<Elu, 1>(k, number(k, "alpha")); }});
  table.add("elu_grad",
            {[](const KernelContext& k) { run_float<EluGrad, 2>(k, number(k, "alpha")); }});
  table.add("sigmoid", floating<Sigmoid, 1>());
  table.add("sigmoid_grad", floating<SigmoidGrad, 2>());
  table.add("tanh", floating<Tanh, 1>());
  table.add("tanh_grad", floating<TanhGrad, 2>());
  table.add("silu", floating<Silu, 1>());
  table.add("silu_grad", floating<SiluGrad, 2>());
  table.add("softplus", floating<Softplus, 1>());
  table.add("softplus_grad", floating<SoftplusGrad, 2>());
  table.add("gelu", {[](const KernelContext& k) {
              k.attributes.flag("tanh") ? run_float<GeluTanh, 1>(k) : run_float<Gelu, 1>(k);
            }});
  table.add("gelu_grad", {[](const KernelContext& k) {
              k.attributes.flag("tanh") ? run_float<GeluTanhGrad, 2>(k) : run_float<GeluGrad, 2>(k);
            }});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu

// Activations and their gradients. All of these are dense: nothing broadcasts.
#include "backend/cuda/kernels/elementwise.cuh"
#include "backend/cuda/kernels/math.cuh"

namespace plimsoll::cuda {
namespace {

enum class Activation : std::uint8_t {
  relu,
  elu,
  sigmoid,
  tanh,
  silu,
  softplus,
  gelu,
  gelu_tanh,
};

/// The argument of the tanh form, sqrt(2 / pi) * (x + 0.044715 x^3).
template <typename A>
__device__ __forceinline__ A gelu_argument(A x) {
  return x * (A(0.7978845608028654) + A(0.035677408136300125) * x * x);
}

__device__ __forceinline__ float expm1_of(float x) { return expm1f(x); }
__device__ __forceinline__ double expm1_of(double x) { return expm1(x); }
__device__ __forceinline__ float tanh_of(float x) { return tanhf(x); }
__device__ __forceinline__ double tanh_of(double x) { return tanh(x); }
__device__ __forceinline__ float softplus_of(float x) {
  return (x < 0.0F ? 0.0F : x) + log1pf(expf(-fabsf(x)));
}
__device__ __forceinline__ double softplus_of(double x) {
  return (x < 0.0 ? 0.0 : x) + log1p(exp(-fabs(x)));
}

template <typename T>
struct ActivationBody {
  using In = T;
  using Out = T;
  using A = Acc<T>;
  static constexpr int kInputs = 1;
  static constexpr bool kQuick = is_narrow_v<T>;
  Activation op;
  A number;

  template <int E>
  __device__ __forceinline__ void operator()(const A (&in)[1][E], A (&y)[E]) const {
    const A(&x)[E] = in[0];
    switch (op) {
      case Activation::relu:
        return each(y, [&](int i) { return x[i] <= A{0} ? A{0} : x[i]; });  // NaN stays
      case Activation::elu:
        return each(y, [&](int i) { return x[i] > A{0} ? x[i] : number * expm1_of(x[i]); });
      case Activation::sigmoid:
        return each(y, [&](int i) { return math::sigmoid<kQuick>(x[i]); });
      case Activation::tanh:
        return each(y, [&](int i) { return tanh_of(x[i]); });
      case Activation::silu:
        return each(y, [&](int i) { return x[i] * math::sigmoid<kQuick>(x[i]); });
      case Activation::softplus:
        return each(y, [&](int i) { return softplus_of(x[i]); });
      case Activation::gelu:
        return each(y, [&](int i) { return x[i] * math::normal<kQuick>(x[i]).share; });
      case Activation::gelu_tanh:
        // 0.5 * (1 + tanh(a)) is a sigmoid.
        return each(
            y, [&](int i) { return x[i] * math::sigmoid<kQuick>(A{2} * gelu_argument(x[i])); });
    }
  }
};

/// The gradient from dy and what was kept: y, or x for silu, softplus and gelu.
template <typename T>
struct ActivationGradBody {
  using In = T;
  using Out = T;
  using A = Acc<T>;
  static constexpr int kInputs = 2;
  static constexpr bool kQuick = is_narrow_v<T>;
  Activation op;
  A number;

  template <int E>
  __device__ __forceinline__ void operator()(const A (&in)[2][E], A (&dx)[E]) const {
    const A(&dy)[E] = in[0];
    const A(&v)[E] = in[1];
    switch (op) {
      case Activation::relu:
        return each(dx, [&](int i) { return v[i] > A{0} ? dy[i] : A{0}; });
      case Activation::elu:
        return each(dx, [&](int i) { return v[i] > A{0} ? dy[i] : dy[i] * (v[i] + number); });
      case Activation::sigmoid:
        return each(dx, [&](int i) { return dy[i] * (v[i] * (A{1} - v[i])); });
      case Activation::tanh:
        return each(dx, [&](int i) { return dy[i] * (A{1} - v[i] * v[i]); });
      case Activation::silu:
        return each(dx, [&](int i) {
          const A s = math::sigmoid<kQuick>(v[i]);
          return dy[i] * (s * (A{1} + v[i] * (A{1} - s)));
        });
      case Activation::softplus:
        return each(dx, [&](int i) { return dy[i] * math::sigmoid<kQuick>(v[i]); });
      case Activation::gelu:
        return each(dx, [&](int i) {
          const math::Normal<A> normal = math::normal<kQuick>(v[i]);
          return dy[i] * (normal.share + v[i] * normal.density);
        });
      case Activation::gelu_tanh:
        return each(dx, [&](int i) {
          const A x = v[i];
          const A s = math::sigmoid<kQuick>(A{2} * gelu_argument(x));
          const A slope = A(2 * 0.7978845608028654) + A(6 * 0.035677408136300125) * x * x;
          return dy[i] * (s + x * (s * (A{1} - s)) * slope);
        });
    }
  }
};

void run_activation(const KernelContext& k, Activation op, double number = 0) {
  with_float(k.in(0).dtype(), [&]<typename T>() {
    run_elementwise(k, ActivationBody<T>{op, static_cast<Acc<T>>(number)}, "activation");
  });
}
void run_gradient(const KernelContext& k, Activation op, double number = 0) {
  with_float(k.in(0).dtype(), [&]<typename T>() {
    run_dense(k, ActivationGradBody<T>{op, static_cast<Acc<T>>(number)}, "activation gradient");
  });
}

template <Activation Op>
ops::Kernel forward() {
  return {[](const KernelContext& k) { run_activation(k, Op); }};
}
template <Activation Op>
ops::Kernel gradient() {
  return {[](const KernelContext& k) { run_gradient(k, Op); }};
}

Activation gelu_form(const KernelContext& k) {
  return k.attributes.flag("tanh") ? Activation::gelu_tanh : Activation::gelu;
}

void add_kernels(KernelTable& table) {
  table.add("relu", forward<Activation::relu>());
  table.add("relu_grad", gradient<Activation::relu>());
  table.add("elu", {[](const KernelContext& k) {
              run_activation(k, Activation::elu, k.attributes.number("alpha"));
            }});
  table.add("elu_grad", {[](const KernelContext& k) {
              run_gradient(k, Activation::elu, k.attributes.number("alpha"));
            }});
  table.add("sigmoid", forward<Activation::sigmoid>());
  table.add("sigmoid_grad", gradient<Activation::sigmoid>());
  table.add("tanh", forward<Activation::tanh>());
  table.add("tanh_grad", gradient<Activation::tanh>());
  table.add("silu", forward<Activation::silu>());
  table.add("silu_grad", gradient<Activation::silu>());
  table.add("softplus", forward<Activation::softplus>());
  table.add("softplus_grad", gradient<Activation::softplus>());
  table.add("gelu", {[](const KernelContext& k) { run_activation(k, gelu_form(k)); }});
  table.add("gelu_grad", {[](const KernelContext& k) { run_gradient(k, gelu_form(k)); }});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda

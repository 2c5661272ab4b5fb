// Activations and their gradients. All of these are dense: nothing broadcasts.
#include "backend/cuda/kernels/element.cuh"
#include "backend/cuda/kernels/elementwise.cuh"

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
        return each(y, [&](int i) { return element::relu(x[i]); });
      case Activation::elu:
        return each(y, [&](int i) { return element::elu(x[i], number); });
      case Activation::sigmoid:
        return each(y, [&](int i) { return element::sigmoid<kQuick>(x[i]); });
      case Activation::tanh:
        return each(y, [&](int i) { return element::tanh(x[i]); });
      case Activation::silu:
        return each(y, [&](int i) { return element::silu<kQuick>(x[i]); });
      case Activation::softplus:
        return each(y, [&](int i) { return element::softplus(x[i]); });
      case Activation::gelu:
        return each(y, [&](int i) { return element::gelu<kQuick>(x[i]); });
      case Activation::gelu_tanh:
        return each(y, [&](int i) { return element::gelu_tanh<kQuick>(x[i]); });
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
        return each(dx, [&](int i) { return element::relu_grad(dy[i], v[i]); });
      case Activation::elu:
        return each(dx, [&](int i) { return element::elu_grad(dy[i], v[i], number); });
      case Activation::sigmoid:
        return each(dx, [&](int i) { return element::sigmoid_grad(dy[i], v[i]); });
      case Activation::tanh:
        return each(dx, [&](int i) { return element::tanh_grad(dy[i], v[i]); });
      case Activation::silu:
        return each(dx, [&](int i) { return element::silu_grad<kQuick>(dy[i], v[i]); });
      case Activation::softplus:
        return each(dx, [&](int i) { return element::softplus_grad<kQuick>(dy[i], v[i]); });
      case Activation::gelu:
        return each(dx, [&](int i) { return element::gelu_grad<kQuick>(dy[i], v[i]); });
      case Activation::gelu_tanh:
        return each(dx, [&](int i) { return element::gelu_tanh_grad<kQuick>(dy[i], v[i]); });
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

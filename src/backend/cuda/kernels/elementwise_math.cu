// Roots, exponentials, logarithms, angles, rounding, powers.
#include "backend/cuda/kernels/element.cuh"
#include "backend/cuda/kernels/elementwise.cuh"

namespace plimsoll::cuda {
namespace {

enum class Function : std::uint8_t {
  sqrt,
  rsqrt,
  reciprocal,
  exp,
  log,
  log1p,
  erf,
  floor,
  round,
  sin,
  cos,
};

template <typename T>
struct FunctionBody {
  using In = T;
  using Out = T;
  using A = Acc<T>;
  static constexpr int kInputs = 1;
  Function op;

  template <int E>
  __device__ __forceinline__ void operator()(const A (&in)[1][E], A (&y)[E]) const {
    const A(&x)[E] = in[0];
    switch (op) {
      case Function::sqrt:
        return each(y, [&](int i) { return element::sqrt(x[i]); });
      case Function::rsqrt:
        return each(y, [&](int i) { return element::rsqrt(x[i]); });
      case Function::reciprocal:
        return each(y, [&](int i) { return element::reciprocal(x[i]); });
      case Function::exp:
        return each(y, [&](int i) { return element::exp(x[i]); });
      case Function::log:
        return each(y, [&](int i) { return element::log(x[i]); });
      case Function::log1p:
        return each(y, [&](int i) { return element::log1p(x[i]); });
      case Function::erf:
        return each(y, [&](int i) { return element::erf(x[i]); });
      case Function::floor:
        return each(y, [&](int i) { return element::floor(x[i]); });
      case Function::round:
        return each(y, [&](int i) { return element::round(x[i]); });
      case Function::sin:
        return each(y, [&](int i) { return element::sin(x[i]); });
      case Function::cos:
        return each(y, [&](int i) { return element::cos(x[i]); });
    }
  }
};

/// From dy and what was kept: y for sqrt, rsqrt and reciprocal, else x.
template <typename T>
struct FunctionGradBody {
  using In = T;
  using Out = T;
  using A = Acc<T>;
  static constexpr int kInputs = 2;
  Function op;

  template <int E>
  __device__ __forceinline__ void operator()(const A (&in)[2][E], A (&dx)[E]) const {
    const A(&dy)[E] = in[0];
    const A(&v)[E] = in[1];
    switch (op) {
      case Function::sqrt:
        return each(dx, [&](int i) { return element::sqrt_grad(dy[i], v[i]); });
      case Function::rsqrt:
        return each(dx, [&](int i) { return element::rsqrt_grad(dy[i], v[i]); });
      case Function::reciprocal:
        return each(dx, [&](int i) { return element::reciprocal_grad(dy[i], v[i]); });
      case Function::log1p:
        return each(dx, [&](int i) { return element::log1p_grad(dy[i], v[i]); });
      case Function::erf:
        return each(dx, [&](int i) { return element::erf_grad(dy[i], v[i]); });
      case Function::sin:
        return each(dx, [&](int i) { return element::sin_grad(dy[i], v[i]); });
      case Function::cos:
        return each(dx, [&](int i) { return element::cos_grad(dy[i], v[i]); });
      default:
        return;
    }
  }
};

template <typename T>
struct PowBody {
  using In = T;
  using Out = T;
  using A = Acc<T>;
  static constexpr int kInputs = 2;

  template <int E>
  __device__ __forceinline__ void operator()(const A (&in)[2][E], A (&y)[E]) const {
    each(y, [&](int i) { return element::pow(in[0][i], in[1][i]); });
  }
};

/// By a from dy, a and b; by b from dy, y and a.
template <typename T>
struct PowGradBody {
  using In = T;
  using Out = T;
  using A = Acc<T>;
  static constexpr int kInputs = 3;
  bool by_exponent;

  template <int E>
  __device__ __forceinline__ void operator()(const A (&in)[3][E], A (&dx)[E]) const {
    const A(&dy)[E] = in[0];
    if (by_exponent) {
      return each(dx, [&](int i) { return element::pow_exponent_grad(dy[i], in[1][i], in[2][i]); });
    }
    each(dx, [&](int i) { return element::pow_grad(dy[i], in[1][i], in[2][i]); });
  }
};

template <Function Op>
ops::Kernel function() {
  return {[](const KernelContext& k) {
    with_float(k.in(0).dtype(),
               [&]<typename T>() { run_elementwise(k, FunctionBody<T>{Op}, "function"); });
  }};
}
template <Function Op>
ops::Kernel gradient() {
  return {[](const KernelContext& k) {
    with_float(k.in(0).dtype(), [&]<typename T>() {
      run_dense(k, FunctionGradBody<T>{Op}, "gradient of a function");
    });
  }};
}
template <bool ByExponent>
void run_pow_grad(const KernelContext& k) {
  with_float(k.in(0).dtype(),
             [&]<typename T>() { run_elementwise(k, PowGradBody<T>{ByExponent}, "pow_grad"); });
}
void run_pow(const KernelContext& k) {
  with_float(k.in(0).dtype(), [&]<typename T>() { run_elementwise(k, PowBody<T>{}, "pow"); });
}

void add_kernels(KernelTable& table) {
  table.add("sqrt", function<Function::sqrt>());
  table.add("sqrt_grad", gradient<Function::sqrt>());
  table.add("rsqrt", function<Function::rsqrt>());
  table.add("rsqrt_grad", gradient<Function::rsqrt>());
  table.add("reciprocal", function<Function::reciprocal>());
  table.add("reciprocal_grad", gradient<Function::reciprocal>());
  table.add("exp", function<Function::exp>());
  table.add("log", function<Function::log>());
  table.add("log1p", function<Function::log1p>());
  table.add("log1p_grad", gradient<Function::log1p>());
  table.add("erf", function<Function::erf>());
  table.add("erf_grad", gradient<Function::erf>());
  table.add("floor", function<Function::floor>());
  table.add("round", function<Function::round>());
  table.add("sin", function<Function::sin>());
  table.add("sin_grad", gradient<Function::sin>());
  table.add("cos", function<Function::cos>());
  table.add("cos_grad", gradient<Function::cos>());
  table.add("pow", {run_pow});
  table.add("pow_grad", {run_pow_grad<false>});
  table.add("pow_exponent_grad", {run_pow_grad<true>});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda

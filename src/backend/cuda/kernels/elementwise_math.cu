// Roots, exponentials, logarithms, angles, rounding, powers.
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

// The toolkit's functions of f32 by the name of those of f64.
__device__ __forceinline__ float sqrt_of(float x) { return sqrtf(x); }
__device__ __forceinline__ double sqrt_of(double x) { return sqrt(x); }
__device__ __forceinline__ float exp_of(float x) { return expf(x); }
__device__ __forceinline__ double exp_of(double x) { return exp(x); }
__device__ __forceinline__ float log_of(float x) { return logf(x); }
__device__ __forceinline__ double log_of(double x) { return log(x); }
__device__ __forceinline__ float log1p_of(float x) { return log1pf(x); }
__device__ __forceinline__ double log1p_of(double x) { return log1p(x); }
__device__ __forceinline__ float erf_of(float x) { return erff(x); }
__device__ __forceinline__ double erf_of(double x) { return erf(x); }
__device__ __forceinline__ float floor_of(float x) { return floorf(x); }
__device__ __forceinline__ double floor_of(double x) { return floor(x); }
__device__ __forceinline__ float round_of(float x) { return rintf(x); }
__device__ __forceinline__ double round_of(double x) { return rint(x); }
// Not inlined: these are large and rare, and a vector of them would be many times as large.
__device__ __noinline__ float sin_of(float x) { return sinf(x); }
__device__ __noinline__ double sin_of(double x) { return sin(x); }
__device__ __noinline__ float cos_of(float x) { return cosf(x); }
__device__ __noinline__ double cos_of(double x) { return cos(x); }
__device__ __noinline__ float pow_of(float a, float b) { return powf(a, b); }
__device__ __noinline__ double pow_of(double a, double b) { return pow(a, b); }

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
        return each(y, [&](int i) { return sqrt_of(x[i]); });
      case Function::rsqrt:
        return each(y, [&](int i) { return A{1} / sqrt_of(x[i]); });
      case Function::reciprocal:
        return each(y, [&](int i) { return A{1} / x[i]; });
      case Function::exp:
        return each(y, [&](int i) { return exp_of(x[i]); });
      case Function::log:
        return each(y, [&](int i) { return log_of(x[i]); });
      case Function::log1p:
        return each(y, [&](int i) { return log1p_of(x[i]); });
      case Function::erf:
        return each(y, [&](int i) { return erf_of(x[i]); });
      case Function::floor:
        return each(y, [&](int i) { return floor_of(x[i]); });
      case Function::round:
        return each(y, [&](int i) { return round_of(x[i]); });
      case Function::sin:
        return each(y, [&](int i) { return sin_of(x[i]); });
      case Function::cos:
        return each(y, [&](int i) { return cos_of(x[i]); });
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
        return each(dx, [&](int i) { return dy[i] / (v[i] + v[i]); });
      case Function::rsqrt:
        return each(dx, [&](int i) { return dy[i] * (A(-0.5) * v[i] * v[i] * v[i]); });
      case Function::reciprocal:
        return each(dx, [&](int i) { return -dy[i] * v[i] * v[i]; });
      case Function::log1p:
        return each(dx, [&](int i) { return dy[i] / (A{1} + v[i]); });
      case Function::erf:
        return each(dx,
                    [&](int i) { return dy[i] * (A(1.1283791670955126) * exp_of(-v[i] * v[i])); });
      case Function::sin:
        return each(dx, [&](int i) { return dy[i] * cos_of(v[i]); });
      case Function::cos:
        return each(dx, [&](int i) { return -dy[i] * sin_of(v[i]); });
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
    each(y, [&](int i) { return pow_of(in[0][i], in[1][i]); });
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
      return each(
          dx, [&](int i) { return in[2][i] > A{0} ? dy[i] * in[1][i] * log_of(in[2][i]) : A{0}; });
    }
    each(dx, [&](int i) {
      const A b = in[2][i];
      return b == A{0} ? A{0} : dy[i] * b * pow_of(in[1][i], b - A{1});
    });
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

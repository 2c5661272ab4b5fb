// The steps of optimizers, in place: parameter, state and gradient are read once, parameter and
// state written once. What comes from scalars on the device is computed once per block.
#include "backend/cuda/kernels.h"
#include "backend/cuda/rows.cuh"

namespace plimsoll::cuda {
namespace {

/// What the rules below read, in the parameter's dtype.
template <typename T>
struct Settings {
  T rate, decay, shrink, momentum, nesterov, beta1, beta2, one_minus_beta1, one_minus_beta2,
      correction1, correction2, epsilon;
};

// Each rule changes an element of the parameter p and its state, given its gradient g.

struct Sgd {
  static constexpr int kStates = 0;
  template <typename T>
  static __device__ __forceinline__ void step(T& p, T&, T&, T g, const Settings<T>& c) {
    p -= c.rate * (g + c.decay * p);
  }
};
struct SgdMomentum {
  static constexpr int kStates = 1;
  template <typename T>
  static __device__ __forceinline__ void step(T& p, T& velocity, T&, T g, const Settings<T>& c) {
    g += c.decay * p;
    velocity = c.momentum * velocity + g;
    const T ahead = g + c.momentum * velocity;
    p -= c.rate * (c.nesterov != T(0) ? ahead : velocity);
  }
};
struct Adam {
  static constexpr int kStates = 2;
  template <typename T>
  static __device__ __forceinline__ void step(T& p, T& first, T& second, T g,
                                              const Settings<T>& c) {
    g += c.decay * p;
    first = c.beta1 * first + c.one_minus_beta1 * g;
    second = c.beta2 * second + c.one_minus_beta2 * g * g;
    p = p * c.shrink -
        c.rate * (first * c.correction1) / (sqrt(second * c.correction2) + c.epsilon);
  }
};
struct Rmsprop {
  static constexpr int kStates = 1;
  template <typename T>
  static __device__ __forceinline__ void step(T& p, T& square, T&, T g, const Settings<T>& c) {
    g += c.decay * p;
    square = c.beta2 * square + c.one_minus_beta2 * g * g;
    p -= c.rate * g / sqrt(square + c.epsilon);
  }
};
struct RmspropMomentum {
  static constexpr int kStates = 2;
  template <typename T>
  static __device__ __forceinline__ void step(T& p, T& square, T& velocity, T g,
                                              const Settings<T>& c) {
    g += c.decay * p;
    square = c.beta2 * square + c.one_minus_beta2 * g * g;
    velocity = c.momentum * velocity + c.rate * g / sqrt(square + c.epsilon);
    p -= velocity;
  }
};

/// A step as the host knows it: attributes, and where the scalars are.
template <typename T>
struct Update {
  T* p;
  T* first;   ///< null without a state
  T* second;  ///< likewise
  const void* gradient;
  DType gradient_dtype;
  std::int64_t elements;
  bool aligned;
  const float* rate;
  const float* step;   ///< null without corrections
  const bool* enable;  ///< null: yes
  double weight_decay, beta1, beta2;
  bool decoupled;
  Settings<T> settings;  ///< but for what depends on the scalars
};

/// Threads 0 and 32 of a block find what depends on the scalars, in double as the CPU does.
template <typename T>
__device__ __forceinline__ Settings<T> settings_of(const Update<T>& u) {
  __shared__ T found[4];
  if (threadIdx.x == 0) {
    const double rate = static_cast<double>(*u.rate);
    found[0] = static_cast<T>(rate);
    found[1] = static_cast<T>(u.decoupled ? 1 - rate * u.weight_decay : 1.0);
  }
  if (threadIdx.x % 32 == 0 && threadIdx.x < 64 && u.step != nullptr) {
    const double beta = threadIdx.x == 0 ? u.beta1 : u.beta2;
    const double power = pow(beta, static_cast<double>(*u.step));
    found[2 + threadIdx.x / 32] = static_cast<T>(1 / (1 - power));
  }
  __syncthreads();
  Settings<T> c = u.settings;
  c.rate = found[0];
  c.shrink = found[1];
  if (u.step != nullptr) {
    c.correction1 = found[2];
    c.correction2 = found[3];
  }
  return c;
}

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

template <typename Rule, typename T>
__global__ void __launch_bounds__(kThreads) update_elements(const Update<T> u) {
  if (u.enable != nullptr && !*u.enable) return;
  const Settings<T> c = settings_of(u);
  constexpr int N = kVector<T>;
  const std::int64_t whole = u.elements / N;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (std::int64_t i = thread; i < whole; i += stride) {
    update_some<Rule, N>(u, i * N, u.aligned, c);
  }
  const std::int64_t rest = whole * N + thread;
  if (rest < u.elements) update_some<Rule, 1>(u, rest, true, c);
}

template <typename Rule, typename T>
void update(const KernelContext& k) {
  constexpr int kGradient = Rule::kStates + 1;
  const ops::Attributes& attributes = k.attributes;
  const auto number = [&](std::string_view name) {
    return attributes.has(name) ? attributes.number(name) : 0.0;
  };
  const auto flag = [&](std::string_view name) {
    return attributes.has(name) && attributes.flag(name);
  };
  const TensorView& last = k.inputs.back();
  Update<T> u{};
  u.p = k.in(0).as<T>();
  if constexpr (Rule::kStates > 0) u.first = k.in(1).as<T>();
  if constexpr (Rule::kStates > 1) u.second = k.in(2).as<T>();
  u.gradient = k.in(kGradient).data;
  u.gradient_dtype = k.in(kGradient).dtype();
  u.elements = k.in(0).elements();
  u.aligned = all_aligned({u.p, u.first, u.second, u.gradient});
  u.rate = k.in(kGradient + 1).as<const float>();
  u.step = attributes.has("beta1") ? k.in(kGradient + 2).as<const float>() : nullptr;
  u.enable = last.dtype() == DType::boolean ? last.as<const bool>() : nullptr;
  u.weight_decay = number("weight_decay");
  u.beta1 = number("beta1");
  u.beta2 = attributes.has("decay") ? number("decay") : number("beta2");
  u.decoupled = flag("decoupled");
  u.settings.decay = static_cast<T>(u.decoupled ? 0 : u.weight_decay);
  u.settings.momentum = static_cast<T>(number("momentum"));
  u.settings.nesterov = static_cast<T>(flag("nesterov") ? 1 : 0);
  u.settings.beta1 = static_cast<T>(u.beta1);
  u.settings.beta2 = static_cast<T>(u.beta2);
  u.settings.one_minus_beta1 = static_cast<T>(1 - u.beta1);
  u.settings.one_minus_beta2 = static_cast<T>(1 - u.beta2);
  u.settings.epsilon = static_cast<T>(number("epsilon"));
  const unsigned blocks = blocks_for(u.elements / kVector<T> + 1, kThreads, 132 * 8);
  update_elements<Rule, T><<<blocks, kThreads, 0, queue_of(k)>>>(u);
}

template <typename Rule>
void run_update(const KernelContext& k) {
  if (k.in(0).elements() == 0) return;
  k.in(0).dtype() == DType::f64 ? update<Rule, double>(k) : update<Rule, float>(k);
  check_launch("optimizer update");
}

}  // namespace

void add_optimizer_update_kernels(KernelTable& table) {
  table.add("sgd_update", {run_update<Sgd>});
  table.add("sgd_momentum_update", {run_update<SgdMomentum>});
  table.add("adam_update", {run_update<Adam>});
  table.add("rmsprop_update", {run_update<Rmsprop>});
  table.add("rmsprop_momentum_update", {run_update<RmspropMomentum>});
}

}  // namespace plimsoll::cuda

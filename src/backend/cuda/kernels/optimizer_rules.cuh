#pragma once

#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/rows.cuh"

// The steps of optimizers for elements, for the kernels of whole parameters and of rows.

namespace plimsoll::cuda {
namespace {

/// What the rules below read, in the parameter's dtype.
template <typename T>
struct Settings {
  T rate, decay, shrink, momentum, nesterov, beta1, beta2, one_minus_beta1, one_minus_beta2,
      correction1, correction2, epsilon;
};

/// The moving average of squares.
template <typename T>
__device__ __forceinline__ T moved_square(T square, T g, const Settings<T>& c) {
  return rounded::fma(c.beta2, square, rounded::mul(rounded::mul(c.one_minus_beta2, g), g));
}

// Each rule changes an element of the parameter p and its state, given its gradient g.

struct Sgd {
  static constexpr int kStates = 0;
  template <typename T>
  static __device__ __forceinline__ void step(T& p, T&, T&, T g, const Settings<T>& c) {
    p = rounded::fma(-c.rate, rounded::fma(c.decay, p, g), p);
  }
};
struct SgdMomentum {
  static constexpr int kStates = 1;
  template <typename T>
  static __device__ __forceinline__ void step(T& p, T& velocity, T&, T g, const Settings<T>& c) {
    g = rounded::fma(c.decay, p, g);
    velocity = rounded::fma(c.momentum, velocity, g);
    const T ahead = rounded::fma(c.momentum, velocity, g);
    p = rounded::fma(-c.rate, c.nesterov != T(0) ? ahead : velocity, p);
  }
};
struct Adam {
  static constexpr int kStates = 2;
  template <typename T>
  static __device__ __forceinline__ void step(T& p, T& first, T& second, T g,
                                              const Settings<T>& c) {
    g = rounded::fma(c.decay, p, g);
    first = rounded::fma(c.beta1, first, rounded::mul(c.one_minus_beta1, g));
    second = moved_square(second, g, c);
    const T above = rounded::mul(c.rate, rounded::mul(first, c.correction1));
    const T below = rounded::add(sqrt(rounded::mul(second, c.correction2)), c.epsilon);
    p = rounded::fma(p, c.shrink, -(above / below));
  }
};
struct Adagrad {
  static constexpr int kStates = 1;
  template <typename T>
  static __device__ __forceinline__ void step(T& p, T& sum, T&, T g, const Settings<T>& c) {
    g = rounded::fma(c.decay, p, g);
    sum = rounded::fma(g, g, sum);
    p = rounded::fma(-c.rate, g / rounded::add(sqrt(sum), c.epsilon), p);
  }
};
struct Rmsprop {
  static constexpr int kStates = 1;
  template <typename T>
  static __device__ __forceinline__ void step(T& p, T& square, T&, T g, const Settings<T>& c) {
    g = rounded::fma(c.decay, p, g);
    square = moved_square(square, g, c);
    p = rounded::sub(p, rounded::mul(c.rate, g) / sqrt(rounded::add(square, c.epsilon)));
  }
};
struct RmspropMomentum {
  static constexpr int kStates = 2;
  template <typename T>
  static __device__ __forceinline__ void step(T& p, T& square, T& velocity, T g,
                                              const Settings<T>& c) {
    g = rounded::fma(c.decay, p, g);
    square = moved_square(square, g, c);
    const T ahead = rounded::mul(c.rate, g) / sqrt(rounded::add(square, c.epsilon));
    velocity = rounded::fma(c.momentum, velocity, ahead);
    p = rounded::sub(p, velocity);
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
  const float* step;   ///< null where nothing depends on it
  const bool* enable;  ///< null: yes
  double weight_decay, beta1, beta2, lr_decay;
  bool decoupled;
  Settings<T> settings;  ///< but for what depends on the scalars
};

/// Threads 0 and 32 of a block find what depends on the scalars, in double as the CPU does.
template <typename T>
__device__ __forceinline__ Settings<T> settings_of(const Update<T>& u) {
  __shared__ T found[4];
  if (threadIdx.x == 0) {
    const double rate = static_cast<double>(*u.rate);
    const double before = u.step != nullptr ? static_cast<double>(*u.step) - 1 : 0;
    found[0] = static_cast<T>(u.lr_decay != 0 ? rate / (1 + u.lr_decay * before) : rate);
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

/// Scalars come behind input `gradient`.
template <typename Rule, typename T>
Update<T> update_of(const KernelContext& k, int gradient = Rule::kStates + 1) {
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
  u.gradient = k.in(gradient).data;
  u.gradient_dtype = k.in(gradient).dtype();
  u.elements = k.in(0).elements();
  u.aligned = all_aligned({u.p, u.first, u.second, u.gradient});
  u.rate = k.in(gradient + 1).as<const float>();
  u.step = attributes.has("beta1") || attributes.has("lr_decay")
               ? k.in(gradient + 2).as<const float>()
               : nullptr;
  u.enable = last.dtype() == DType::boolean ? last.as<const bool>() : nullptr;
  u.weight_decay = number("weight_decay");
  u.beta1 = number("beta1");
  u.beta2 = attributes.has("decay") ? number("decay") : number("beta2");
  u.lr_decay = number("lr_decay");
  u.decoupled = flag("decoupled");
  u.settings.decay = static_cast<T>(u.decoupled ? 0 : u.weight_decay);
  u.settings.momentum = static_cast<T>(number("momentum"));
  u.settings.nesterov = static_cast<T>(flag("nesterov") ? 1 : 0);
  u.settings.beta1 = static_cast<T>(u.beta1);
  u.settings.beta2 = static_cast<T>(u.beta2);
  u.settings.one_minus_beta1 = static_cast<T>(1 - u.beta1);
  u.settings.one_minus_beta2 = static_cast<T>(1 - u.beta2);
  u.settings.epsilon = static_cast<T>(number("epsilon"));
  return u;
}

}  // namespace
}  // namespace plimsoll::cuda

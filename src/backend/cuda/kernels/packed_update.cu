// A step of Adam whose moments are kept in 8 bits: one pass, a warp for each block of moments.
#include <plimsoll/backend/common/packed_moments.h>

#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/optimizer_rules.cuh"

namespace plimsoll::cuda {
namespace {

/// Which Update does not know of.
struct Moments {
  std::int8_t* first;
  float* first_scale;
  std::uint8_t* second;
  float* second_scale;
};

constexpr int kWarp = 32;
constexpr int kEach = packed::kMomentBlock / kWarp;

/// The largest of sizes that are not negative, NaN above all.
__device__ __forceinline__ float largest(const float (&sizes)[kEach]) {
  std::uint32_t most = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const std::uint32_t bits = __float_as_uint(fabsf(sizes[i]));
    most = bits > most ? bits : most;
  }
#pragma unroll
  for (int apart = kWarp / 2; apart > 0; apart /= 2) {
    const std::uint32_t other = __shfl_xor_sync(0xffffffffU, most, apart);
    most = other > most ? other : most;
  }
  return __uint_as_float(most);
}

template <typename T, typename G>
__global__ void __launch_bounds__(kThreads) update_packed(const Update<T> u, const Moments m) {
  if (u.enable != nullptr && !*u.enable) return;
  const Settings<T> c = settings_of(u);
  const auto step = static_cast<std::uint32_t>(*u.step);
  const auto beta1 = static_cast<float>(c.beta1);
  const auto beta2 = static_cast<float>(c.beta2);
  const auto one_minus_beta1 = static_cast<float>(c.one_minus_beta1);
  const auto one_minus_beta2 = static_cast<float>(c.one_minus_beta2);
  const G* const gradient = static_cast<const G*>(u.gradient);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t blocks = (u.elements + packed::kMomentBlock - 1) / packed::kMomentBlock;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * (kThreads / kWarp);
  std::int64_t block =
      (static_cast<std::int64_t>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x)) / kWarp;
  for (; block < blocks; block += stride) {
    const std::int64_t at = block * packed::kMomentBlock + lane;
    const float first_scale = m.first_scale[block];
    const float second_scale = m.second_scale[block];
    float first[kEach];
    float second[kEach];
    T g[kEach];
    T p[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const std::int64_t element = at + i * kWarp;
      const bool inside = element < u.elements;
      g[i] = inside ? static_cast<T>(widen(gradient[element])) : T(0);
      p[i] = inside ? u.p[element] : T(0);
      first[i] = packed::first_value(static_cast<float>(m.first[element]), first_scale);
      second[i] = packed::second_value(static_cast<float>(m.second[element]), second_scale);
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const auto slope = static_cast<float>(rounded::fma(c.decay, p[i], g[i]));
      first[i] = rounded::fma(beta1, first[i], rounded::mul(one_minus_beta1, slope));
      second[i] =
          rounded::fma(beta2, second[i], rounded::mul(rounded::mul(one_minus_beta2, slope), slope));
      const T above = rounded::mul(c.rate, rounded::mul(static_cast<T>(first[i]), c.correction1));
      const T root = sqrt(rounded::mul(static_cast<T>(second[i]), c.correction2));
      const T after = rounded::fma(p[i], c.shrink, -(above / rounded::add(root, c.epsilon)));
      const std::int64_t element = at + i * kWarp;
      if (element < u.elements) u.p[element] = after;
    }
    const float first_most = largest(first);
    const float second_most = largest(second);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const std::int64_t element = at + i * kWarp;
      const std::uint32_t start = packed::start_of(static_cast<std::uint32_t>(element));
      const float a =
          packed::first_steps(fabsf(first[i]), first_most, packed::first_fraction(start, step));
      const float b =
          packed::second_steps(second[i], second_most, packed::second_fraction(start, step));
      m.first[element] = static_cast<std::int8_t>(static_cast<int>(first[i] < 0 ? -a : a));
      m.second[element] = static_cast<std::uint8_t>(static_cast<int>(b));
    }
    if (lane == 0) {
      m.first_scale[block] = first_most;
      m.second_scale[block] = second_most;
    }
  }
}

/// For update_of(), which then reads no states.
struct Packed {
  static constexpr int kStates = 0;
};

template <typename T, typename G>
void update(const KernelContext& k) {
  constexpr int kGradient = 5;
  const Update<T> u = update_of<Packed, T>(k, kGradient);
  const Moments m = {k.in(1).as<std::int8_t>(), k.in(2).as<float>(), k.in(3).as<std::uint8_t>(),
                     k.in(4).as<float>()};
  const std::int64_t threads = k.in(2).elements() * kWarp;
  update_packed<T, G><<<blocks_for(threads, kThreads, 132 * 32), kThreads, 0, queue_of(k)>>>(u, m);
  check_launch("optimizer update");
}

void run(const KernelContext& k) {
  if (k.in(0).elements() == 0) return;
  switch (k.in(5).dtype()) {
    case DType::f64:
      return update<double, double>(k);
    case DType::f16:
      return update<float, __half>(k);
    case DType::bf16:
      return update<float, __nv_bfloat16>(k);
    default:
      return update<float, float>(k);
  }
}

void add_kernels(KernelTable& table) { table.add("adam_8bit_update", {run}); }

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda

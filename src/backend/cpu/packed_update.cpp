// A step of Adam whose moments are kept in 8 bits: one pass, a block at a time.
#include <algorithm>
#include <bit>

#include <plimsoll/backend/common/packed_moments.h>
#include <plimsoll/base/parallel.h>

#include "backend/cpu/optimizer_rules.h"

namespace plimsoll::cpu {
namespace {

constexpr std::int64_t kMomentCount = packed::kMomentBlock;
constexpr std::int64_t kBlockGrain = 64;

/// A block's moments in memory.
struct BlockMoments {
  std::int8_t* first;
  float* first_scale;
  std::uint8_t* second;
  float* second_scale;
};

/// The largest of sizes that are not negative, NaN above all.
PLIMSOLL_INLINE float largest_size(const float* sizes) {
  std::int32_t most = 0;
#pragma omp simd reduction(max : most)
  for (std::int64_t i = 0; i < kMomentCount; ++i) {
    most = std::max(most, std::bit_cast<std::int32_t>(std::fabs(sizes[i])));
  }
  return std::bit_cast<float>(most);
}

/// kMomentCount elements, of which `element` is the first.
template <typename T>
PLIMSOLL_CLONES void update_moments(T* PLIMSOLL_RESTRICT p, const T* PLIMSOLL_RESTRICT g,
                                    const BlockMoments& moments, std::uint32_t element,
                                    std::uint32_t step, const Settings<T>& settings) {
  const Settings<T> c = settings;
  std::int8_t* PLIMSOLL_RESTRICT const first_steps = moments.first;
  std::uint8_t* PLIMSOLL_RESTRICT const second_steps = moments.second;
  const float first_scale = *moments.first_scale;
  const float second_scale = *moments.second_scale;
  const auto beta1 = static_cast<float>(c.beta1);
  const auto beta2 = static_cast<float>(c.beta2);
  const auto one_minus_beta1 = static_cast<float>(c.one_minus_beta1);
  const auto one_minus_beta2 = static_cast<float>(c.one_minus_beta2);
  alignas(64) float first[kMomentCount];
  alignas(64) float second[kMomentCount];
#pragma omp simd
  for (std::int64_t i = 0; i < kMomentCount; ++i) {
    const auto gradient = static_cast<float>(g[i] + c.decay * p[i]);
    const float a = packed::first_value(first_steps[i], first_scale);
    const float b = packed::second_value(second_steps[i], second_scale);
    first[i] = beta1 * a + one_minus_beta1 * gradient;
    second[i] = beta2 * b + one_minus_beta2 * gradient * gradient;
    p[i] = p[i] * c.shrink - c.rate * (static_cast<T>(first[i]) * c.correction1) /
                                 (std::sqrt(static_cast<T>(second[i]) * c.correction2) + c.epsilon);
  }
  const float first_most = largest_size(first);
  const float second_most = largest_size(second);
#pragma omp simd
  for (std::int64_t i = 0; i < kMomentCount; ++i) {
    const std::uint32_t start = packed::start_of(element + static_cast<std::uint32_t>(i));
    const float a =
        packed::first_steps(std::fabs(first[i]), first_most, packed::first_fraction(start, step));
    const float b =
        packed::second_steps(second[i], second_most, packed::second_fraction(start, step));
    first_steps[i] = static_cast<std::int8_t>(static_cast<std::int32_t>(first[i] < 0 ? -a : a));
    second_steps[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(b));
  }
  *moments.first_scale = first_most;
  *moments.second_scale = second_most;
}

template <typename T>
void update_packed(const KernelContext& k) {
  constexpr int kGradient = 5;
  const Settings<T> settings = settings_of<T>(k, kGradient + 1);
  const auto step = static_cast<std::uint32_t>(*k.in(kGradient + 2).as<const float>());
  const std::int64_t elements = k.in(0).elements();
  T* const p = k.in(0).as<T>();
  const BlockMoments all = {k.in(1).as<std::int8_t>(), k.in(2).as<float>(),
                            k.in(3).as<std::uint8_t>(), k.in(4).as<float>()};
  with_float(k.in(kGradient).dtype(), [&]<typename G>() {
    const G* const gradient = k.in(kGradient).as<const G>();
    const std::int64_t blocks = (elements + kMomentCount - 1) / kMomentCount;
    parallel_for(blocks, kBlockGrain, [&](std::int64_t begin, std::int64_t end) {
      alignas(64) T g[kMomentCount];
      alignas(64) T last[kMomentCount];
      for (std::int64_t block = begin; block < end; ++block) {
        const std::int64_t at = block * kMomentCount;
        const std::int64_t count = std::min(kMomentCount, elements - at);
        for (std::int64_t i = 0; i < count; ++i) g[i] = static_cast<T>(widen(gradient[at + i]));
        std::fill(g + count, g + kMomentCount, T{0});
        const BlockMoments own = {all.first + at, all.first_scale + block, all.second + at,
                                  all.second_scale + block};
        T* const whole = count == kMomentCount ? p + at : last;
        if (whole == last) {
          std::copy_n(p + at, count, last);
          std::fill(last + count, last + kMomentCount, T{0});
        }
        update_moments<T>(whole, g, own, static_cast<std::uint32_t>(at), step, settings);
        if (whole == last) std::copy_n(last, count, p + at);
      }
    });
  });
}

void run_packed_update(const KernelContext& k) {
  if (is_disabled(k)) return;
  k.in(0).dtype() == DType::f64 ? update_packed<double>(k) : update_packed<float>(k);
}

void add_kernels(KernelTable& table) { table.add("adam_8bit_update", {run_packed_update}); }

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu

// Fills and random draws. Element i of a draw takes word i of the op's stream, so a draw of another
// shape or dtype begins with the same numbers.
#include <algorithm>
#include <cmath>
#include <limits>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/chunks.h"
#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/random_stream.h"

namespace plimsoll::cpu {
namespace {

constexpr int kLanes = 16;

/// Philox::draw for kLanes blocks that follow each other, lane by lane.
PLIMSOLL_CLONES void draw_lanes(std::uint64_t block, const Philox::Key& key0,
                                const Philox::Key& high, std::uint32_t* words) {
  alignas(64) std::uint32_t c0[kLanes];
  alignas(64) std::uint32_t c1[kLanes];
  alignas(64) std::uint32_t c2[kLanes];
  alignas(64) std::uint32_t c3[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    const std::uint64_t at = block + static_cast<std::uint64_t>(i);
    c0[i] = static_cast<std::uint32_t>(at);
    c1[i] = static_cast<std::uint32_t>(at >> 32);
    c2[i] = high[0];
    c3[i] = high[1];
  }
  std::uint32_t k0 = key0[0];
  std::uint32_t k1 = key0[1];
  for (int round = 0; round < 10; ++round) {
#pragma omp simd
    for (int i = 0; i < kLanes; ++i) {
      const std::uint64_t a = std::uint64_t{0xD2511F53} * c0[i];
      const std::uint64_t b = std::uint64_t{0xCD9E8D57} * c2[i];
      c0[i] = static_cast<std::uint32_t>(b >> 32) ^ c1[i] ^ k0;
      c1[i] = static_cast<std::uint32_t>(b);
      c2[i] = static_cast<std::uint32_t>(a >> 32) ^ c3[i] ^ k1;
      c3[i] = static_cast<std::uint32_t>(a);
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  for (int i = 0; i < kLanes; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}

using backend::unit;

PLIMSOLL_CLONES void uniform_row(const std::uint32_t* words, float* to, float low, float width) {
#pragma omp simd
  for (std::int64_t i = 0; i < kRandomWords; ++i) to[i] = low + unit(words[i]) * width;
}

/// Box and Muller: words 2i and 2i + 1 give normals 2i and 2i + 1.
PLIMSOLL_CLONES void normal_row(const std::uint32_t* words, float* to, float mean,
                                float deviation) {
#pragma omp simd
  for (std::int64_t i = 0; i < kRandomWords / 2; ++i) {
    // In (0, 1], so that the logarithm is finite.
    const float radius =
        std::sqrt(-2.0F * math::log(unit(words[2 * i]) + (1.0F / 16777216.0F))) * deviation;
    float sine = 0;
    float cosine = 0;
    math::sincos_turn(unit(words[2 * i + 1]), sine, cosine);
    to[2 * i] = mean + radius * cosine;
    to[2 * i + 1] = mean + radius * sine;
  }
}

/// f64 is computed in f32 and widened: it is there for tests.
template <typename Row>
void run_random(const KernelContext& k, Row row) {
  const RandomStream stream(k.random, k.attributes.integer("random_id"));
  const std::int64_t elements = k.out(0).elements();
  const std::int64_t rows = (elements + kRandomWords - 1) / kRandomWords;
  parallel_for(rows, 16, [&](std::int64_t first, std::int64_t last) {
    alignas(64) std::uint32_t words[kRandomWords];
    alignas(64) float values[kRandomWords];
    for (std::int64_t r = first; r < last; ++r) {
      const std::int64_t at = r * kRandomWords;
      const std::int64_t count = std::min(kRandomWords, elements - at);
      random_words(stream, static_cast<std::uint64_t>(at), words);
      row(words, values);
      with_float(k.out(0).dtype(), [&]<typename T>() {
        T* to = k.out(0).as<T>() + at;
        if constexpr (std::is_same_v<Acc<T>, T>) {
          std::copy_n(values, count, to);
        } else {
          narrow_row(k.out(0).dtype(), values, to, count);
        }
      });
    }
  });
}

void run_full(const KernelContext& k) {
  const auto fill = [&]<typename T>(T value) {
    parallel_for(k.out(0).elements(), 65536, [&](std::int64_t first, std::int64_t last) {
      std::fill(k.out(0).as<T>() + first, k.out(0).as<T>() + last, value);
    });
  };
  if (k.attributes.has("whole")) return fill(k.attributes.integer("whole"));  // of i64
  const double value = k.attributes.number("value");
  with_any(k.out(0).dtype(), [&]<typename T>() { fill(as_element<T>(value)); });
}

void run_arange(const KernelContext& k) {
  with_number(k.out(0).dtype(), [&]<typename T>() {
    for (std::int64_t i = 0; i < k.out(0).elements(); ++i) {
      k.out(0).as<T>()[i] = as_element<T>(static_cast<double>(i));
    }
  });
}

}  // namespace

void random_words(const RandomStream& stream, std::uint64_t first, std::uint32_t* words) {
  for (std::int64_t i = 0; i < kRandomWords; i += 4 * kLanes) {
    draw_lanes(first / 4 + static_cast<std::uint64_t>(i) / 4, stream.key(), stream.high(),
               words + i);
  }
}

namespace {

void add_kernels(KernelTable& table) {
  table.add("full", {run_full});
  table.add("arange", {run_arange});
  table.add("random_uniform", {[](const KernelContext& k) {
              const auto low = static_cast<float>(k.attributes.number("low"));
              const auto width = static_cast<float>(k.attributes.number("high")) - low;
              run_random(k, [&](const std::uint32_t* words, float* to) {
                uniform_row(words, to, low, width);
              });
            }});
  table.add("random_normal", {[](const KernelContext& k) {
              const auto mean = static_cast<float>(k.attributes.number("mean"));
              const auto deviation = static_cast<float>(k.attributes.number("deviation"));
              run_random(k, [&](const std::uint32_t* words, float* to) {
                normal_row(words, to, mean, deviation);
              });
            }});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu

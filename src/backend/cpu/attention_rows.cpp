#include "backend/cpu/attention_rows.h"

#include <algorithm>

#include "backend/cpu/vector_exp.h"

namespace plimsoll::cpu {
namespace {

#define PLIMSOLL_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3")))
#define PLIMSOLL_INLINE __attribute__((always_inline)) inline

/// Partial results of a row, put together at the end.
constexpr std::int64_t kLanes = 32;

template <typename T>
PLIMSOLL_INLINE T max_of(const T* __restrict row, std::int64_t count) {
  T best = row[0];
  std::int64_t i = 0;
  if (count >= kLanes) {
    T lanes[kLanes];
    for (std::int64_t l = 0; l < kLanes; ++l) lanes[l] = row[l];
    for (i = kLanes; i + kLanes <= count; i += kLanes) {
      for (std::int64_t l = 0; l < kLanes; ++l) {
        lanes[l] = row[i + l] > lanes[l] ? row[i + l] : lanes[l];
      }
    }
    for (const T lane : lanes) best = std::max(best, lane);
  }
  for (; i < count; ++i) best = std::max(best, row[i]);
  return best;
}

template <typename T>
PLIMSOLL_INLINE T total_of(const T* lanes) {
  T total = 0;
  for (std::int64_t l = 0; l < kLanes; ++l) total += lanes[l];
  return total;
}

template <typename T>
PLIMSOLL_INLINE T exp_of(T* __restrict row, std::int64_t count, T scale, T shift) {
  T lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t l = 0; l < kLanes; ++l) {
      const T e = fast_exp(row[i + l] * scale - shift);
      row[i + l] = e;
      lanes[l] += e;
    }
  }
  T total = total_of(lanes);
  for (; i < count; ++i) {
    row[i] = fast_exp(row[i] * scale - shift);
    total += row[i];
  }
  return total;
}

template <typename T>
PLIMSOLL_INLINE T dot_of(const T* __restrict a, const T* __restrict b, std::int64_t count) {
  T lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t l = 0; l < kLanes; ++l) lanes[l] += a[i + l] * b[i + l];
  }
  T total = total_of(lanes);
  for (; i < count; ++i) total += a[i] * b[i];
  return total;
}

}  // namespace

PLIMSOLL_CLONES float row_max(const float* row, std::int64_t count) { return max_of(row, count); }
double row_max(const double* row, std::int64_t count) { return max_of(row, count); }

PLIMSOLL_CLONES float row_exp(float* row, std::int64_t count, float scale, float shift) {
  return exp_of(row, count, scale, shift);
}
double row_exp(double* row, std::int64_t count, double scale, double shift) {
  return exp_of(row, count, scale, shift);
}

PLIMSOLL_CLONES float row_dot(const float* a, const float* b, std::int64_t count) {
  return dot_of(a, b, count);
}
double row_dot(const double* a, const double* b, std::int64_t count) { return dot_of(a, b, count); }

PLIMSOLL_CLONES void row_scale(float* row, std::int64_t count, float factor) {
  for (std::int64_t i = 0; i < count; ++i) row[i] *= factor;
}
void row_scale(double* row, std::int64_t count, double factor) {
  for (std::int64_t i = 0; i < count; ++i) row[i] *= factor;
}

PLIMSOLL_CLONES void row_softmax_grad(float* __restrict to, const float* __restrict p,
                                      std::int64_t count, float delta, float scale) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = p[i] * (to[i] - delta) * scale;
}
void row_softmax_grad(double* to, const double* p, std::int64_t count, double delta, double scale) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = p[i] * (to[i] - delta) * scale;
}

}  // namespace plimsoll::cpu

#pragma GCC optimize("O3")

#include "backend/cpu/attention_rows.h"

#include <algorithm>
#include <limits>

#include "backend/cpu/row_math.h"

namespace plimsoll::cpu {
namespace {

/// Partial results of a row, put together at the end.
constexpr std::int64_t kPartials = 32;

template <typename T>
PLIMSOLL_INLINE T max_row(const T* __restrict row, std::int64_t count) {
  T best = row[0];
  std::int64_t i = 0;
  if (count >= kPartials) {
    T lanes[kPartials];
    for (std::int64_t l = 0; l < kPartials; ++l) lanes[l] = row[l];
    for (i = kPartials; i + kPartials <= count; i += kPartials) {
      for (std::int64_t l = 0; l < kPartials; ++l) {
        lanes[l] = row[i + l] > lanes[l] ? row[i + l] : lanes[l];
      }
    }
    for (const T lane : lanes) best = std::max(best, lane);
  }
  for (; i < count; ++i) best = std::max(best, row[i]);
  return best;
}

template <typename T>
PLIMSOLL_INLINE T total(const T* lanes) {
  T sum = 0;
  for (std::int64_t l = 0; l < kPartials; ++l) sum += lanes[l];
  return sum;
}

template <typename T>
PLIMSOLL_INLINE T exp_row(T* __restrict row, std::int64_t count, T scale, T shift) {
  T lanes[kPartials] = {};
  std::int64_t i = 0;
  for (; i + kPartials <= count; i += kPartials) {
    for (std::int64_t l = 0; l < kPartials; ++l) {
      const T e = exp_of(row[i + l] * scale - shift);
      row[i + l] = e;
      lanes[l] += e;
    }
  }
  T sum = total(lanes);
  for (; i < count; ++i) {
    row[i] = exp_of(row[i] * scale - shift);
    sum += row[i];
  }
  return sum;
}

template <typename T>
PLIMSOLL_INLINE T dot_row(const T* __restrict a, const T* __restrict b, std::int64_t count) {
  T lanes[kPartials] = {};
  std::int64_t i = 0;
  for (; i + kPartials <= count; i += kPartials) {
    for (std::int64_t l = 0; l < kPartials; ++l) lanes[l] += a[i + l] * b[i + l];
  }
  T sum = total(lanes);
  for (; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

template <typename T>
PLIMSOLL_INLINE T hide_row(T* __restrict row, const bool* __restrict mask, std::int64_t count,
                           T scale) {
  constexpr T kLowest = std::numeric_limits<T>::lowest();
  for (std::int64_t i = 0; i < count; ++i) row[i] = mask[i] ? row[i] * scale : kLowest;
  return max_row(row, count);
}

}  // namespace

PLIMSOLL_CLONES float row_max(const float* row, std::int64_t count) { return max_row(row, count); }
double row_max(const double* row, std::int64_t count) { return max_row(row, count); }

PLIMSOLL_CLONES float row_exp(float* row, std::int64_t count, float scale, float shift) {
  return exp_row(row, count, scale, shift);
}
double row_exp(double* row, std::int64_t count, double scale, double shift) {
  return exp_row(row, count, scale, shift);
}

PLIMSOLL_CLONES float row_dot(const float* a, const float* b, std::int64_t count) {
  return dot_row(a, b, count);
}
double row_dot(const double* a, const double* b, std::int64_t count) {
  return dot_row(a, b, count);
}

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

PLIMSOLL_CLONES float row_hide(float* row, const bool* mask, std::int64_t count, float scale) {
  return hide_row(row, mask, count, scale);
}
double row_hide(double* row, const bool* mask, std::int64_t count, double scale) {
  return hide_row(row, mask, count, scale);
}

PLIMSOLL_CLONES void row_clear(float* __restrict row, const bool* __restrict mask,
                               std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) row[i] = mask[i] ? row[i] : 0.0F;
}
void row_clear(double* row, const bool* mask, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) row[i] = mask[i] ? row[i] : 0.0;
}

}  // namespace plimsoll::cpu

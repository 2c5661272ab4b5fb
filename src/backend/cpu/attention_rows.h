#pragma once

#include <cstdint>

// Loops over rows of scores, for attention and linear_cross_entropy.

namespace plimsoll::cpu {

/// The largest of `count` > 0 numbers.
float row_max(const float* row, std::int64_t count);
double row_max(const double* row, std::int64_t count);

/// row = exp(row * scale - shift); returns the sum, in an order fixed by the count.
float row_exp(float* row, std::int64_t count, float scale, float shift);
double row_exp(double* row, std::int64_t count, double scale, double shift);

/// The sum of a[i] * b[i], in an order fixed by the count.
float row_dot(const float* a, const float* b, std::int64_t count);
double row_dot(const double* a, const double* b, std::int64_t count);

/// row *= factor.
void row_scale(float* row, std::int64_t count, float factor);
void row_scale(double* row, std::int64_t count, double factor);

/// to = p * (to - delta) * scale.
void row_softmax_grad(float* to, const float* p, std::int64_t count, float delta, float scale);
void row_softmax_grad(double* to, const double* p, std::int64_t count, double delta, double scale);

/// row *= scale where the mask says so, else the lowest number there is; returns the largest.
float row_hide(float* row, const bool* mask, std::int64_t count, float scale);
double row_hide(double* row, const bool* mask, std::int64_t count, double scale);

/// row = 0 where the mask does not say so.
void row_clear(float* row, const bool* mask, std::int64_t count);
void row_clear(double* row, const bool* mask, std::int64_t count);

}  // namespace plimsoll::cpu

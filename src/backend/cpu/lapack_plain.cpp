// What lapack.h promises, for builds without OpenBLAS: small and right, not fast.
#include "backend/cpu/lapack.h"

#if !PLIMSOLL_HAS_BLAS

#include <algorithm>
#include <cmath>
#include <limits>

namespace plimsoll::cpu {

template <typename T>
bool lu_solve(std::int64_t n, std::int64_t columns, T* a, T* b, T*, int*) {
  for (std::int64_t c = 0; c < n; ++c) {
    std::int64_t pivot = c;
    for (std::int64_t i = c + 1; i < n; ++i) {
      if (std::abs(a[i * n + c]) > std::abs(a[pivot * n + c])) pivot = i;
    }
    if (a[pivot * n + c] == T(0)) return false;
    if (pivot != c) {
      std::swap_ranges(a + c * n, a + (c + 1) * n, a + pivot * n);
      std::swap_ranges(b + c * columns, b + (c + 1) * columns, b + pivot * columns);
    }
    for (std::int64_t i = c + 1; i < n; ++i) {
      const T factor = a[i * n + c] / a[c * n + c];
      for (std::int64_t j = c; j < n; ++j) a[i * n + j] -= factor * a[c * n + j];
      for (std::int64_t j = 0; j < columns; ++j) b[i * columns + j] -= factor * b[c * columns + j];
    }
  }
  triangular_solve(n, columns, a, b, true, false);
  return true;
}

template <typename T>
bool cholesky(std::int64_t n, T* a) {
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      T sum = a[i * n + j];
      for (std::int64_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      if (i == j && !(sum > T(0))) return false;
      a[i * n + j] = i == j ? std::sqrt(sum) : sum / a[j * n + j];
    }
    std::fill_n(a + i * n + i + 1, n - i - 1, T(0));
  }
  return true;
}

template <typename T>
void triangular_solve(std::int64_t n, std::int64_t columns, const T* a, T* b, bool upper,
                      bool transpose) {
  const bool up = upper != transpose;  // from the last row to the first
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t i = up ? n - 1 - step : step;
    for (std::int64_t done = 0; done < step; ++done) {
      const std::int64_t k = up ? n - 1 - done : done;
      const T factor = transpose ? a[k * n + i] : a[i * n + k];
      for (std::int64_t j = 0; j < columns; ++j) b[i * columns + j] -= factor * b[k * columns + j];
    }
    for (std::int64_t j = 0; j < columns; ++j) b[i * columns + j] /= a[i * n + i];
  }
}

namespace {

/// One-sided Jacobi of the `k` rows of w [k, length]: turns pairs of rows until all are orthogonal,
/// and the rows of v [k, k] along with them.
template <typename T>
bool turn_rows(std::int64_t k, std::int64_t length, T* w, T* v) {
  const T small = std::numeric_limits<T>::epsilon();
  for (int sweep = 0; sweep < 60; ++sweep) {
    bool turned = false;
    for (std::int64_t p = 0; p + 1 < k; ++p) {
      for (std::int64_t q = p + 1; q < k; ++q) {
        T pp = 0;
        T qq = 0;
        T pq = 0;
        for (std::int64_t i = 0; i < length; ++i) {
          pp += w[p * length + i] * w[p * length + i];
          qq += w[q * length + i] * w[q * length + i];
          pq += w[p * length + i] * w[q * length + i];
        }
        if (std::abs(pq) <= small * std::sqrt(pp * qq)) continue;
        turned = true;
        const T tau = (qq - pp) / (2 * pq);
        const T t = std::copysign(T(1), tau) / (std::abs(tau) + std::sqrt(1 + tau * tau));
        const T c = 1 / std::sqrt(1 + t * t);
        const auto turn = [&](T* rows, std::int64_t count) {
          for (std::int64_t i = 0; i < count; ++i) {
            const T x = rows[p * count + i];
            const T y = rows[q * count + i];
            rows[p * count + i] = c * (x - t * y);
            rows[q * count + i] = c * (t * x + y);
          }
        };
        turn(w, length);
        turn(v, k);
      }
    }
    if (!turned) return true;
  }
  return false;
}

}  // namespace

template <typename T>
bool svd(std::int64_t m, std::int64_t n, T* a, T* u, T* s, T* vh, void* scratch) {
  const std::int64_t k = std::min(m, n);
  const std::int64_t length = std::max(m, n);
  const bool wide = m <= n;
  // Rows of w are a's rows where it is wide, else its columns.
  auto* turns = static_cast<T*>(scratch);
  T* w = wide ? vh : u;
  for (std::int64_t i = 0; i < k; ++i) {
    for (std::int64_t j = 0; j < length; ++j)
      w[i * length + j] = wide ? a[i * n + j] : a[j * n + i];
    for (std::int64_t j = 0; j < k; ++j) turns[i * k + j] = i == j ? T(1) : T(0);
  }
  if (!turn_rows(k, length, w, turns)) return false;
  for (std::int64_t i = 0; i < k; ++i) {
    T sum = 0;
    for (std::int64_t j = 0; j < length; ++j) sum += w[i * length + j] * w[i * length + j];
    s[i] = std::sqrt(sum);
    for (std::int64_t j = 0; j < length; ++j) w[i * length + j] /= s[i] > T(0) ? s[i] : T(1);
  }
  for (std::int64_t i = 0; i < k; ++i) {
    const std::int64_t best = std::max_element(s + i, s + k) - s;
    if (best == i) continue;
    std::swap(s[i], s[best]);
    std::swap_ranges(w + i * length, w + (i + 1) * length, w + best * length);
    std::swap_ranges(turns + i * k, turns + (i + 1) * k, turns + best * k);
  }
  if (wide) {
    for (std::int64_t i = 0; i < k; ++i) {
      for (std::int64_t j = 0; j < k; ++j) u[j * k + i] = turns[i * k + j];
    }
    return true;
  }
  // u holds its own transpose so far; a is free to take it.
  std::copy_n(u, k * m, a);
  for (std::int64_t i = 0; i < k; ++i) {
    for (std::int64_t j = 0; j < m; ++j) u[j * k + i] = a[i * m + j];
  }
  std::copy_n(turns, k * k, vh);
  return true;
}

template bool lu_solve(std::int64_t, std::int64_t, float*, float*, float*, int*);
template bool lu_solve(std::int64_t, std::int64_t, double*, double*, double*, int*);
template bool cholesky(std::int64_t, float*);
template bool cholesky(std::int64_t, double*);
template void triangular_solve(std::int64_t, std::int64_t, const float*, float*, bool, bool);
template void triangular_solve(std::int64_t, std::int64_t, const double*, double*, bool, bool);
template bool svd(std::int64_t, std::int64_t, float*, float*, float*, float*, void*);
template bool svd(std::int64_t, std::int64_t, double*, double*, double*, double*, void*);

}  // namespace plimsoll::cpu

#endif

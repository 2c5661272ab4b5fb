#include "backend/cpu/blas.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/parallel.h>

#if PLIMSOLL_HAS_BLAS
#include <cblas.h>
#endif
#ifdef _OPENMP
#include <omp.h>
#endif

namespace plimsoll::cpu {
namespace {

/// Columns of b that a piece of the plain loop works on at a time.
constexpr std::int64_t kColumns = 64;

template <typename T>
void plain(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const T> a,
           Matrix<const T> b, T beta, Matrix<T> c) {
  const std::int64_t grain = std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(1, n * k));
  parallel_for(m, grain, [&](std::int64_t first, std::int64_t last) {
    T sums[kColumns];
    for (std::int64_t j0 = 0; j0 < n; j0 += kColumns) {
      const std::int64_t width = std::min(kColumns, n - j0);
      for (std::int64_t i = first; i < last; ++i) {
        std::fill_n(sums, width, T(0));
        for (std::int64_t l = 0; l < k; ++l) {
          const T left = a.transposed ? a.data[l * a.stride + i] : a.data[i * a.stride + l];
          const T* right = b.transposed ? b.data + j0 * b.stride + l : b.data + l * b.stride + j0;
          const std::int64_t step = b.transposed ? b.stride : 1;
          for (std::int64_t j = 0; j < width; ++j) sums[j] += left * right[j * step];
        }
        T* to = c.data + i * c.stride + j0;
        for (std::int64_t j = 0; j < width; ++j) {
          to[j] = alpha * sums[j] + (beta == T(0) ? T(0) : beta * to[j]);
        }
      }
    }
  });
}

#if PLIMSOLL_HAS_BLAS
int blas_int(std::int64_t value) {
  if (value > std::numeric_limits<int>::max()) {
    throw InvalidArgument(fmt::format(
        "[matmul] an extent of {} is more than OpenBLAS takes (2^31 - 1); split it", value));
  }
  return static_cast<int>(value);
}
CBLAS_TRANSPOSE blas_order(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }

/// BLAS wants strides of at least the row's length even where there is one row only.
template <typename T>
int blas_stride(const Matrix<T>& m, std::int64_t rows, std::int64_t columns) {
  return blas_int(std::max<std::int64_t>({m.stride, 1, m.transposed ? rows : columns}));
}
#endif

template <typename T>
void scale_rows(std::int64_t m, std::int64_t n, T beta, Matrix<T> c) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      T& to = c.data[i * c.stride + j];
      to = beta == T(0) ? T(0) : beta * to;
    }
  }
}

}  // namespace

void plain_gemm(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, Matrix<const float> a,
                Matrix<const float> b, float beta, Matrix<float> c) {
  plain(m, n, k, alpha, a, b, beta, c);
}
void plain_gemm(std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
                Matrix<const double> a, Matrix<const double> b, double beta, Matrix<double> c) {
  plain(m, n, k, alpha, a, b, beta, c);
}

void gemm(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, Matrix<const float> a,
          Matrix<const float> b, float beta, Matrix<float> c) {
  if (m == 0 || n == 0) return;
  if (k == 0) return scale_rows(m, n, beta, c);
#if PLIMSOLL_HAS_BLAS
  cblas_sgemm(CblasRowMajor, blas_order(a.transposed), blas_order(b.transposed), blas_int(m),
              blas_int(n), blas_int(k), alpha, a.data, blas_stride(a, m, k), b.data,
              blas_stride(b, k, n), beta, c.data, blas_stride(c, m, n));
#else
  plain(m, n, k, alpha, a, b, beta, c);
#endif
}

void gemm(std::int64_t m, std::int64_t n, std::int64_t k, double alpha, Matrix<const double> a,
          Matrix<const double> b, double beta, Matrix<double> c) {
  if (m == 0 || n == 0) return;
  if (k == 0) return scale_rows(m, n, beta, c);
#if PLIMSOLL_HAS_BLAS
  cblas_dgemm(CblasRowMajor, blas_order(a.transposed), blas_order(b.transposed), blas_int(m),
              blas_int(n), blas_int(k), alpha, a.data, blas_stride(a, m, k), b.data,
              blas_stride(b, k, n), beta, c.data, blas_stride(c, m, n));
#else
  plain(m, n, k, alpha, a, b, beta, c);
#endif
}

ThreadsScope::ThreadsScope([[maybe_unused]] int threads) : before_(0) {
#ifdef _OPENMP
  before_ = omp_get_max_threads();
  if (before_ != threads) omp_set_num_threads(threads);
#endif
}

ThreadsScope::~ThreadsScope() {
#ifdef _OPENMP
  if (omp_get_max_threads() != before_) omp_set_num_threads(before_);
#endif
}

}  // namespace plimsoll::cpu

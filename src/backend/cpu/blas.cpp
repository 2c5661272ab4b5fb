#include "backend/cpu/blas.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/parallel.h>

#if PLIMSOLL_HAS_BLAS
#include <cblas.h>
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

void blas(CBLAS_TRANSPOSE a_order, CBLAS_TRANSPOSE b_order, int m, int n, int k, float alpha,
          const float* a, int a_stride, const float* b, int b_stride, float beta, float* c,
          int c_stride) {
  cblas_sgemm(CblasRowMajor, a_order, b_order, m, n, k, alpha, a, a_stride, b, b_stride, beta, c,
              c_stride);
}
void blas(CBLAS_TRANSPOSE a_order, CBLAS_TRANSPOSE b_order, int m, int n, int k, double alpha,
          const double* a, int a_stride, const double* b, int b_stride, double beta, double* c,
          int c_stride) {
  cblas_dgemm(CblasRowMajor, a_order, b_order, m, n, k, alpha, a, a_stride, b, b_stride, beta, c,
              c_stride);
}

/// OpenBLAS changes tables of its own when it is first called for one thread: once, before several
/// threads do.
void settle_blas() {
  static const bool settled = [] {
    const LibraryScope library;
    const float one = 1;
    float product = 0;
    blas(CblasNoTrans, CblasNoTrans, 1, 1, 1, 1.0F, &one, 1, &one, 1, 0.0F, &product, 1);
    return true;
  }();
  (void)settled;
}

/// Rows of one call. OpenBLAS copies all of them, some 400 columns at a time, into a buffer of the
/// thread's that no budget knows.
constexpr std::int64_t kMostRows = 512;

template <typename T>
void divided(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const T> a,
             Matrix<const T> b, T beta, Matrix<T> c) {
  settle_blas();
  const int a_stride = blas_stride(a, m, k);
  const int b_stride = blas_stride(b, k, n);
  const int c_stride = blas_stride(c, m, n);
  const ProductGrid grid = ProductGrid::of(m, n, k, division_threads());
  const auto part = [&](std::int64_t task, int) {
    const Part rows = Part::of(m, task / grid.columns, grid.rows, kDivisionBlock);
    const Part columns = Part::of(n, task % grid.columns, grid.columns, kDivisionBlock);
    const LibraryScope library;
    for (std::int64_t done = 0; done < rows.size; done += kMostRows) {
      const std::int64_t first = rows.begin + done;
      blas(blas_order(a.transposed), blas_order(b.transposed),
           blas_int(std::min(kMostRows, rows.size - done)), blas_int(columns.size), blas_int(k),
           alpha, a.data + first * (a.transposed ? 1 : a.stride), a_stride,
           b.data + columns.begin * (b.transposed ? b.stride : 1), b_stride, beta,
           c.data + first * c.stride + columns.begin, c_stride);
    }
  };
  if (grid.parts() == 1) return part(0, 0);
  parallel_tasks(grid.parts(), division_threads(), part);
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
  divided(m, n, k, alpha, a, b, beta, c);
#else
  plain(m, n, k, alpha, a, b, beta, c);
#endif
}

void gemm(std::int64_t m, std::int64_t n, std::int64_t k, double alpha, Matrix<const double> a,
          Matrix<const double> b, double beta, Matrix<double> c) {
  if (m == 0 || n == 0) return;
  if (k == 0) return scale_rows(m, n, beta, c);
#if PLIMSOLL_HAS_BLAS
  divided(m, n, k, alpha, a, b, beta, c);
#else
  plain(m, n, k, alpha, a, b, beta, c);
#endif
}

}  // namespace plimsoll::cpu

#include "backend/cpu/blas.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/parallel.h>

#include "backend/cpu/onednn.h"

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

/// A product, or what one thread computes of it.
template <typename T>
struct Call {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  T alpha;
  Matrix<const T> a;
  Matrix<const T> b;
  T beta;
  Matrix<T> c;

  Call of(Part rows, Part columns) const {
    Call part = *this;
    part.m = rows.size;
    part.n = columns.size;
    part.a.data += rows.begin * (a.transposed ? 1 : a.stride);
    part.b.data += columns.begin * (b.transposed ? b.stride : 1);
    part.c.data += rows.begin * c.stride + columns.begin;
    return part;
  }
};

/// OpenBLAS copies all rows of a call, some 400 columns at a time, into a buffer of the thread's
/// that no budget knows: it gets so many rows at once.
template <typename T>
void by_blas(const Call<T>& whole) {
  constexpr std::int64_t kMostRows = 512;
  for (std::int64_t done = 0; done < whole.m; done += kMostRows) {
    const Call<T> call = whole.of({done, std::min(kMostRows, whole.m - done)}, {0, whole.n});
    blas(blas_order(call.a.transposed), blas_order(call.b.transposed), blas_int(call.m),
         blas_int(call.n), blas_int(call.k), call.alpha, call.a.data,
         blas_stride(call.a, call.m, call.k), call.b.data, blas_stride(call.b, call.k, call.n),
         call.beta, call.c.data, blas_stride(call.c, call.m, call.n));
  }
}

#if PLIMSOLL_HAS_ONEDNN
/// Whether oneDNN computes with AVX-512 and OpenBLAS does not: an OpenBLAS older than the CPU, or
/// one that OPENBLAS_CORETYPE holds back. It takes twice as long then.
bool onednn_is_faster() {
  static const bool faster = [] {
    const std::string_view core = openblas_get_corename();
    return onednn::has_avx512() && core != "SkylakeX" && core != "Cooperlake" &&
           core != "SapphireRapids";
  }();
  return faster;
}

/// oneDNN packs a panel of the columns of a call into memory of its own, 768 KiB for so many.
void by_onednn(const Call<float>& whole) {
  constexpr std::int64_t kMostColumns = 512;
  for (std::int64_t done = 0; done < whole.n; done += kMostColumns) {
    const Call<float> call = whole.of({0, whole.m}, {done, std::min(kMostColumns, whole.n - done)});
    onednn::sgemm(call.a.transposed, call.b.transposed, call.m, call.n, call.k, call.alpha,
                  call.a.data, blas_stride(call.a, call.m, call.k), call.b.data,
                  blas_stride(call.b, call.k, call.n), call.beta, call.c.data,
                  blas_stride(call.c, call.m, call.n));
  }
}
#endif

/// In this thread.
template <typename T>
void compute(const Call<T>& call) {
  const LibraryScope library;
#if PLIMSOLL_HAS_ONEDNN
  if constexpr (std::is_same_v<T, float>) {
    if (onednn_is_faster()) return by_onednn(call);
  }
#endif
  by_blas(call);
}

template <typename T>
void divided(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const T> a,
             Matrix<const T> b, T beta, Matrix<T> c) {
  settle_blas();
  const Call<T> whole{m, n, k, alpha, a, b, beta, c};
  const ProductGrid grid = ProductGrid::of(m, n, k, division_threads());
  const auto part = [&](std::int64_t task, int) {
    compute(whole.of(Part::of(m, task / grid.columns, grid.rows, kDivisionBlock),
                     Part::of(n, task % grid.columns, grid.columns, kDivisionBlock)));
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

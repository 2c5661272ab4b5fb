#include "backend/cpu/lapack.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "backend/cpu/division.h"

// LAPACK is written for columns: a matrix of ours is its own transpose there.

#if PLIMSOLL_HAS_BLAS
#include <cblas.h>

extern "C" {
void sgetrf_(const int* m, const int* n, float* a, const int* lda, int* pivots, int* info);
void dgetrf_(const int* m, const int* n, double* a, const int* lda, int* pivots, int* info);
void sgetrs_(const char* trans, const int* n, const int* nrhs, const float* a, const int* lda,
             const int* pivots, float* b, const int* ldb, int* info, std::size_t);
void dgetrs_(const char* trans, const int* n, const int* nrhs, const double* a, const int* lda,
             const int* pivots, double* b, const int* ldb, int* info, std::size_t);
void spotrf_(const char* uplo, const int* n, float* a, const int* lda, int* info, std::size_t);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info, std::size_t);
void sgesdd_(const char* job, const int* m, const int* n, float* a, const int* lda, float* s,
             float* u, const int* ldu, float* vt, const int* ldvt, float* work, const int* lwork,
             int* iwork, int* info, std::size_t);
void dgesdd_(const char* job, const int* m, const int* n, double* a, const int* lda, double* s,
             double* u, const int* ldu, double* vt, const int* ldvt, double* work, const int* lwork,
             int* iwork, int* info, std::size_t);
}
#endif

namespace plimsoll::cpu {
namespace {

[[maybe_unused]] int lapack_int(std::int64_t value) {
  if (value > std::numeric_limits<int>::max()) {
    throw InvalidArgument(
        fmt::format("[linalg] an extent of {} is more than LAPACK takes (2^31 - 1)", value));
  }
  return static_cast<int>(value);
}

std::int64_t svd_work(std::int64_t m, std::int64_t n) {
  const std::int64_t k = std::min(m, n);
  return 3 * k + std::max(m, n) + 5 * k * k + 7 * k;
}

}  // namespace

template <typename T>
Bytes svd_scratch(std::int64_t m, std::int64_t n) {
  const std::int64_t k = std::min(m, n);
  return static_cast<Bytes>(svd_work(m, n)) * sizeof(T) + static_cast<Bytes>(8 * k) * sizeof(int) +
         64;
}

#if PLIMSOLL_HAS_BLAS

template <typename T>
bool lu_solve(std::int64_t n, std::int64_t columns, T* a, T* b, T* scratch, int* pivots) {
  const LibraryScope library;
  constexpr bool kDouble = std::is_same_v<T, double>;
  const int order = lapack_int(n);
  const int count = lapack_int(columns);
  int info = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) scratch[j * n + i] = b[i * columns + j];
  }
  if constexpr (kDouble) {
    dgetrf_(&order, &order, a, &order, pivots, &info);
    if (info == 0) dgetrs_("T", &order, &count, a, &order, pivots, scratch, &order, &info, 1);
  } else {
    sgetrf_(&order, &order, a, &order, pivots, &info);
    if (info == 0) sgetrs_("T", &order, &count, a, &order, pivots, scratch, &order, &info, 1);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) b[i * columns + j] = scratch[j * n + i];
  }
  return info == 0;
}

template <typename T>
bool cholesky(std::int64_t n, T* a) {
  const LibraryScope library;
  const int order = lapack_int(n);
  int info = 0;
  if constexpr (std::is_same_v<T, double>) {
    dpotrf_("U", &order, a, &order, &info, 1);
  } else {
    spotrf_("U", &order, a, &order, &info, 1);
  }
  for (std::int64_t i = 0; i < n; ++i) std::fill_n(a + i * n + i + 1, n - i - 1, T(0));
  return info == 0;
}

template <typename T>
void triangular_solve(std::int64_t n, std::int64_t columns, const T* a, T* b, bool upper,
                      bool transpose) {
  const LibraryScope library;
  const auto side = upper ? CblasUpper : CblasLower;
  const auto order = transpose ? CblasTrans : CblasNoTrans;
  const int rows = lapack_int(n);
  const int count = lapack_int(columns);
  if constexpr (std::is_same_v<T, double>) {
    cblas_dtrsm(CblasRowMajor, CblasLeft, side, order, CblasNonUnit, rows, count, 1.0, a, rows, b,
                count);
  } else {
    cblas_strsm(CblasRowMajor, CblasLeft, side, order, CblasNonUnit, rows, count, 1.0F, a, rows, b,
                count);
  }
}

template <typename T>
bool svd(std::int64_t m, std::int64_t n, T* a, T* u, T* s, T* vh, void* scratch) {
  const LibraryScope library;
  // The transpose of a is v diag(s) uᵀ: so LAPACK's first vectors are vh to us, its second u.
  const int rows = lapack_int(n);
  const int columns = lapack_int(m);
  const int k = std::min(rows, columns);
  const int size = lapack_int(svd_work(m, n));
  auto* work = static_cast<T*>(scratch);
  auto* integers = reinterpret_cast<int*>(work + size);
  int info = 0;
  if constexpr (std::is_same_v<T, double>) {
    dgesdd_("S", &rows, &columns, a, &rows, s, vh, &rows, u, &k, work, &size, integers, &info, 1);
  } else {
    sgesdd_("S", &rows, &columns, a, &rows, s, vh, &rows, u, &k, work, &size, integers, &info, 1);
  }
  return info == 0;
}

template bool lu_solve(std::int64_t, std::int64_t, float*, float*, float*, int*);
template bool lu_solve(std::int64_t, std::int64_t, double*, double*, double*, int*);
template bool cholesky(std::int64_t, float*);
template bool cholesky(std::int64_t, double*);
template void triangular_solve(std::int64_t, std::int64_t, const float*, float*, bool, bool);
template void triangular_solve(std::int64_t, std::int64_t, const double*, double*, bool, bool);
template bool svd(std::int64_t, std::int64_t, float*, float*, float*, float*, void*);
template bool svd(std::int64_t, std::int64_t, double*, double*, double*, double*, void*);

#endif

template Bytes svd_scratch<float>(std::int64_t, std::int64_t);
template Bytes svd_scratch<double>(std::int64_t, std::int64_t);

}  // namespace plimsoll::cpu

#pragma once

#include <cstdint>

#include <plimsoll/base/bytes.h>

// One matrix at a time, in row-major order. By LAPACK, which OpenBLAS brings, or by plain loops
// without it. One thread each; nothing is allocated.

namespace plimsoll::cpu {

/// Solves a x = b in place of b [n, columns]; `a` [n, n] is overwritten. `scratch` is of
/// n * columns elements and `pivots` of n. False if a is singular.
template <typename T>
bool lu_solve(std::int64_t n, std::int64_t columns, T* a, T* b, T* scratch, int* pivots);

/// The lower triangle in place of a, of which only the lower is read; zeros above it. False if a is
/// not positive definite.
template <typename T>
bool cholesky(std::int64_t n, T* a);

/// Solves with the lower or upper triangle of a, in place of b [n, columns].
template <typename T>
void triangular_solve(std::int64_t n, std::int64_t columns, const T* a, T* b, bool upper,
                      bool transpose);

/// u [m, k], s [k] and vh [k, n] of a [m, n], which is overwritten. `scratch` is of svd_scratch
/// bytes. False if it does not converge.
template <typename T>
bool svd(std::int64_t m, std::int64_t n, T* a, T* u, T* s, T* vh, void* scratch);
template <typename T>
Bytes svd_scratch(std::int64_t m, std::int64_t n);

}  // namespace plimsoll::cpu

#pragma once

#include <cstdint>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/dtype.h>

#include "backend/cpu/division.h"

// Matrix products for kernels that are made of them.

namespace plimsoll::cpu {

/// A matrix in row-major order with `stride` elements from one row to the next, read transposed if
/// `transposed`: then it has the product's rows as its columns.
template <typename T>
struct Matrix {
  T* data = nullptr;
  std::int64_t stride = 0;
  bool transposed = false;
};

/// c = alpha a b + beta c for a of m times k, b of k times n. With beta 0, c is not read. By
/// OpenBLAS, or by a plain blocked loop without it. Divided for division_threads() threads, unless
/// it is called from within a task. The same bits for the same shapes, on a given number of
/// threads.
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, Matrix<const float> a,
          Matrix<const float> b, float beta, Matrix<float> c);
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, double alpha, Matrix<const double> a,
          Matrix<const double> b, double beta, Matrix<double> c);

/// The plain loop behind them, for tests and for builds without OpenBLAS.
void plain_gemm(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, Matrix<const float> a,
                Matrix<const float> b, float beta, Matrix<float> c);
void plain_gemm(std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
                Matrix<const double> a, Matrix<const double> b, double beta, Matrix<double> c);

/// A matrix of f32, f16 or bf16.
struct AnyMatrix {
  void* data = nullptr;
  std::int64_t stride = 0;
  bool transposed = false;
  DType dtype = DType::f32;
};

/// c = a b, plus c if `accumulate` (then c must be f32). Operands of 16 bits are brought to f32 in
/// panels; sums are in f32 and rounded once. `workspace` is of any_gemm_workspace bytes.
void any_gemm(std::int64_t m, std::int64_t n, std::int64_t k, const AnyMatrix& a,
              const AnyMatrix& b, const AnyMatrix& c, bool accumulate, void* workspace);
Bytes any_gemm_workspace(std::int64_t m, std::int64_t n, std::int64_t k, DType a, DType b, DType c);

/// `count` elements of a floating dtype to f32 and back, in one thread.
void to_f32(const void* from, DType dtype, std::int64_t count, float* to);
void from_f32(const float* from, std::int64_t count, void* to, DType dtype);

}  // namespace plimsoll::cpu

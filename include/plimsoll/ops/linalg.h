#pragma once

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::ops {

// Matrices by LAPACK: over the last two dimensions, those before them are as many matrices. f32 and
// f64, on the CPU only: on another device they are a DeviceError; move the matrices with to().

/// x with a x = b, for a [..., n, n] and b [..., n, columns] with the same dimensions in front.
/// InvalidArgument, when it runs, naming the first matrix that is singular.
Tensor solve(const Tensor& a, const Tensor& b);

/// The lower triangle l with l lᵀ = a. Of `a` the mean with its transpose is taken, so that both
/// triangles have gradients. InvalidArgument, when it runs, if a matrix is not positive definite.
Tensor cholesky(const Tensor& a);

struct TriangularOptions {
  bool upper = false;  ///< the upper triangle of `a` counts; else the lower. The rest is not read
  bool transpose = false;  ///< aᵀ x = b
};
/// x with a x = b, where a is a triangle; a and b as for solve(). A zero on the diagonal gives
/// infinities.
Tensor triangular_solve(const Tensor& a, const Tensor& b, const TriangularOptions& options = {});

/// a [..., m, n] = u diag(s) vh with s falling, u [..., m, k] and vh [..., k, n], where k is the
/// smaller of m and n. The element of each column of u that is furthest from zero is positive.
/// Gradients by u and vh need singular values that differ.
struct Svd {
  Tensor u;
  Tensor s;
  Tensor vh;
};
Svd svd(const Tensor& a);

}  // namespace plimsoll::ops

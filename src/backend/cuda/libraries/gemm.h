#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <string>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/dtype.h>

// Products of matrices by cuBLASLt, in rows as all of Plimsoll has them. f32 is computed in f32
// proper unless TF32 is allowed, 16 bits are summed in f32 and rounded once, f64 is computed in
// f64.

namespace plimsoll::cuda {

/// A matrix or one of several. Element (i, j) is `i * stride + j` elements in; transposed:
/// `j * stride + i`.
struct GemmOperand {
  DType dtype = DType::f32;
  std::int64_t stride = 0;
  bool transposed = false;
  std::int64_t step = 0;  ///< elements from one batch's matrix to the next; 0: the same for all
  /// What its address is a multiple of, in bytes, whenever it runs.
  Bytes alignment = 256;
};

/// c [m,n] = a [m,k] times b [k,n], `batches` times. All extents are above 0.
struct GemmSpec {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batches = 1;
  GemmOperand a;
  GemmOperand b;
  GemmOperand c;      ///< never transposed
  bool bias = false;  ///< a row [n] of c's dtype is added to every row
  bool tf32 = false;  ///< factors of f32 may be rounded to TF32
};

/// A product prepared for a device's kind: an algorithm within `limit` bytes of scratch, the same
/// for the same spec. Does not change.
class Gemm {
 public:
  /// Throws DeviceError if the library knows no way.
  Gemm(cublasLtHandle_t blas, const GemmSpec& spec, Bytes limit);

  /// Scratch bytes of a run.
  Bytes workspace() const { return workspace_; }
  /// `accumulate`: c is added to. `bias` is read where the spec has one, which does not go together
  /// with `accumulate`.
  void run(cublasLtHandle_t blas, cudaStream_t stream, const void* a, const void* b, void* c,
           const void* bias, void* workspace, bool accumulate = false) const;

 private:
  /// False if there is no algorithm.
  bool choose(cublasLtHandle_t blas, Bytes limit, bool bias);
  /// The first algorithm within `limit` bytes among those that the library proposes if it may use
  /// `offered`. False if there is none.
  bool propose(cublasLtHandle_t blas, Bytes offered, Bytes limit);
  /// At most `most` algorithms that the library proposes if it may use `offered` bytes, and that
  /// take at most `limit`; its first comes first.
  std::vector<cublasLtMatmulHeuristicResult_t> proposals(cublasLtHandle_t blas, Bytes offered,
                                                         Bytes limit, int most);
  /// What could be taken instead of what was chosen, as choices; for `plimsoll tune`. The same
  /// types and rules for sums hold.
  std::vector<std::string> alternatives(cublasLtHandle_t blas, Bytes limit) const;

  GemmSpec spec_;
  bool fused_bias_ = false;  ///< else c is filled with the bias first and added to
  cublasLtMatmulDescOpaque_t desc_{};
  // In the library's order: columns follow each other, so that c is computed as its transpose.
  cublasLtMatrixLayoutOpaque_t left_{};
  cublasLtMatrixLayoutOpaque_t right_{};
  cublasLtMatrixLayoutOpaque_t result_{};
  cublasLtMatmulAlgo_t algorithm_{};
  Bytes workspace_ = 0;
};

/// The alignment of matrices that start `elements` apart, the first one at a multiple of 256: a
/// power of two up to 256.
inline Bytes alignment_of_step(std::int64_t elements, DType dtype) {
  const Bytes bytes = static_cast<Bytes>(elements) * dtype_size(dtype);
  Bytes alignment = 256;
  while (bytes % alignment != 0) alignment /= 2;
  return alignment;
}

/// Fills rows of a matrix: element (i, j) = row[j], or zeros where `row` is null. `stride` in
/// elements of `dtype`.
void fill_rows(void* to, const void* row, std::int64_t rows, std::int64_t columns,
               std::int64_t stride, DType dtype, cudaStream_t stream);

}  // namespace plimsoll::cuda

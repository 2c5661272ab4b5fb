#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <optional>

#include "backend/cuda/gemm.h"
#include "ops/product_shape.h"

// Products of any shape: cuBLASLt's, on copies with zeros added and in slices of k where
// ops::product_route says so.

namespace plimsoll::cuda {

/// A product prepared for a device's kind, the same for the same shape. Does not change.
class Product {
 public:
  /// `alignment` of each operand's first element, in bytes: a, b, c. Throws DeviceError if the
  /// library knows no way.
  struct Alignment {
    Bytes a = 256;
    Bytes b = 256;
    Bytes c = 256;
  };
  Product(cublasLtHandle_t blas, const ops::ProductShape& shape, const Alignment& alignment);

  /// Scratch bytes of a run, at most those of the route.
  Bytes workspace() const { return route_.parts() + scratch_; }
  /// `bias` is read where the shape has one. `workspace` is aligned to 256.
  void run(cublasLtHandle_t blas, cudaStream_t stream, const void* a, const void* b, void* c,
           const void* bias, void* workspace) const;

 private:
  void choose_whole(cublasLtHandle_t blas, GemmSpec spec);
  void choose_slices(cublasLtHandle_t blas, GemmSpec spec);

  ops::ProductShape shape_;
  ops::ProductRoute route_;
  std::optional<Gemm> main_;
  std::optional<Gemm> rest_;  ///< of the elements of k behind the slices
  std::int64_t slice_a_ = 0;  ///< elements from one slice to the next
  std::int64_t slice_b_ = 0;
  Bytes scratch_ = 0;
};

/// Matrices [rows, columns] one after the other, and what they are copied to: more rows and
/// columns, filled with zeros.
struct Padding {
  std::int64_t count = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t to_rows = 0;
  std::int64_t to_columns = 0;  ///< a multiple of 16 bytes
};
void copy_padded(void* to, const void* from, const Padding& padding, DType dtype,
                 cudaStream_t stream);
/// The way back: from [to_rows, to_columns] to [rows, columns].
void copy_unpadded(void* to, const void* from, const Padding& padding, DType dtype,
                   cudaStream_t stream);

/// c [rows, columns] = the sum of `parts` matrices of f32 [stride_rows, stride], in order, plus a
/// row of bias unless that is null; rounded once.
struct PartialSums {
  std::int64_t parts = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 0;  ///< elements of a partial sum's row
  std::int64_t step = 0;    ///< elements from one part to the next
};
void add_partial_sums(void* c, const float* partials, const void* bias, const PartialSums& sums,
                      DType dtype, cudaStream_t stream);

}  // namespace plimsoll::cuda

#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <optional>

#include <plimsoll/ops/product_shape.h>

#include "backend/cuda/libraries/gemm.h"

// Products of any shape: cuBLASLt's, on copies with zeros added where ops::product_route says so.

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
  /// The library's part, for so many rows and columns of the result.
  struct Block {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t m = 0;  ///< with zeros added
    std::int64_t n = 0;
    std::optional<Gemm> gemm;
  };
  struct Operands {
    const void* a;
    const void* b;
    void* c;
    const void* bias;
  };

  Block block(cublasLtHandle_t blas, std::int64_t rows, std::int64_t columns,
              const Alignment& alignment) const;
  void copy_left(void* to, const void* a, const Block& block, cudaStream_t stream) const;
  void copy_right(void* to, const void* b, const Block& block, cudaStream_t stream) const;
  void run_block(cublasLtHandle_t blas, cudaStream_t stream, const Block& block,
                 const Operands& operands, std::byte* workspace) const;

  ops::ProductShape shape_;
  ops::ProductRoute route_;
  Block main_;
  Block last_;  ///< rows or columns that are left, if any
  Bytes scratch_ = 0;
};

/// Matrices [rows, columns], and dense ones [to_rows, to_columns] that they are copied to, with
/// zeros behind their rows and columns.
struct Padding {
  std::int64_t count = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 0;  ///< elements from one row to the next
  std::int64_t step = 0;    ///< and from one matrix to the next
  std::int64_t to_rows = 0;
  std::int64_t to_columns = 0;  ///< a multiple of 16 bytes
};
void copy_padded(void* to, const void* from, const Padding& padding, DType dtype,
                 cudaStream_t stream);
/// Also transposed: to_rows are those of columns.
void copy_flipped(void* to, const void* from, const Padding& padding, DType dtype,
                  cudaStream_t stream);
/// The way back: from [to_rows, to_columns] to [rows, columns].
void copy_unpadded(void* to, const void* from, const Padding& padding, DType dtype,
                   cudaStream_t stream);

}  // namespace plimsoll::cuda

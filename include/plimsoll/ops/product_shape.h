#pragma once

#include <cstdint>
#include <vector>

#include <plimsoll/ops/op_def.h>

// How a GPU computes matmul and linear, as a function of shapes, dtype and attributes alone: the
// plan, its predicted times and the backend have the same answer.

namespace plimsoll::ops {

/// A batch dimension of a result: how far the next matrix of each input is, in matrices; 0 where
/// it broadcasts.
struct BatchDim {
  std::int64_t extent = 1;
  std::int64_t step_a = 0;
  std::int64_t step_b = 0;
};

/// c [m,n] = a [m,k] times b [k,n], `batches` times in one call. Matrices are dense; those that
/// are transposed lie as [k,m] and [n,k].
struct ProductShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batches = 1;
  bool transpose_a = false;
  bool transpose_b = false;
  bool one_a = false;  ///< a is the same for all batches
  bool one_b = false;
  bool bias = false;
  DType dtype = DType::f32;
  bool tf32 = false;
};

/// An op's products: calls of `shape` for each outer index.
struct Products {
  ProductShape shape;           ///< its batches are `inner`'s or a part of them
  std::vector<BatchDim> outer;  ///< outermost first
  BatchDim inner;

  /// How many calls of the library there are.
  std::int64_t calls() const;
  /// The last call of each outer index, if it has fewer batches than the others; else 0.
  std::int64_t batches_left() const;
  bool empty() const;  ///< there is no element in the result
};

Products products_of_matmul(const OpInputs& inputs, std::span<const TensorType> outputs);
Products products_of_linear(const OpInputs& inputs);

/// How a product is computed. The library's fast kernels want rows of whole 16 bytes, in TF32 also
/// an `a` that is not transposed. Where it pays, operands are copied with zeros added or
/// transposed. Long sums of few results are split by the library itself.
struct ProductRoute {
  // What the library computes at a time; more than the shape's where zeros are added.
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  // Rows and columns of the result that this is: all of them, or so many that copies are small.
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool copy_a = false;
  bool copy_b = false;
  bool copy_c = false;  ///< the result is computed in the workspace and copied out
  bool flip_a = false;  ///< the copy of a is transposed where a is not, and the other way round
  bool flip_b = false;

  // Parts of the workspace, one after the other, each a multiple of 256 bytes.
  Bytes a = 0;
  Bytes b = 0;
  Bytes c = 0;
  Bytes bias = 0;
  Bytes scratch = 0;  ///< the most that the library may take

  bool copied() const { return copy_a || copy_b || copy_c; }
  bool plain() const { return !copied(); }
  Bytes parts() const { return a + b + c + bias; }
  Bytes total() const { return parts() + scratch; }
};

/// The most that copies of a product take.
inline constexpr Bytes kMostProductCopies = MiB(160);

ProductRoute product_route(const ProductShape& shape);

/// For OpDef::workspace.
Bytes products_workspace(const Products& products);

/// Elements of a dtype that the library's fast kernels take at a time: rows should be multiples.
std::int64_t product_unit(DType dtype, bool tf32);

/// What all rows of a product's operands are multiples of, in bytes: 16, or less.
Bytes product_alignment(const ProductShape& shape);

/// Operations per second that the library reaches on large products by that route, on an H200.
double product_rate(const ProductShape& shape, const ProductRoute& route);

/// What a route computes for `rows` or `columns` of the result, zeros included.
std::int64_t padded_rows(const ProductShape& shape, const ProductRoute& route, std::int64_t rows);
std::int64_t padded_columns(const ProductShape& shape, const ProductRoute& route,
                            std::int64_t columns);

}  // namespace plimsoll::ops

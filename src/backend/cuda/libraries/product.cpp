#include "backend/cuda/libraries/product.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace plimsoll::cuda {
namespace {

template <typename Void>
auto* at(Void* base, std::int64_t elements, DType dtype) {
  using Byte = std::conditional_t<std::is_const_v<Void>, const std::byte, std::byte>;
  return static_cast<Byte*>(base) + elements * static_cast<std::int64_t>(dtype_size(dtype));
}

/// `padding` is of the matrix as it would be if it were not transposed.
void copy(void* to, const void* from, Padding padding, bool transposed, bool flip, DType dtype,
          cudaStream_t stream) {
  if (transposed) std::swap(padding.rows, padding.columns);
  if (transposed != flip) std::swap(padding.to_rows, padding.to_columns);
  flip ? copy_flipped(to, from, padding, dtype, stream)
       : copy_padded(to, from, padding, dtype, stream);
}

}  // namespace

Product::Product(cublasLtHandle_t blas, const ops::ProductShape& shape, const Alignment& alignment)
    : shape_(shape), route_(ops::product_route(shape)) {
  const std::int64_t rows_left = shape.m % route_.rows;
  const std::int64_t columns_left = shape.n % route_.columns;
  main_ = block(blas, route_.rows, route_.columns, alignment);
  // At most one of the two is cut.
  if (rows_left != 0) last_ = block(blas, rows_left, route_.columns, alignment);
  if (columns_left != 0) last_ = block(blas, route_.rows, columns_left, alignment);
  for (const Block* each : {&main_, &last_}) {
    if (each->gemm) scratch_ = std::max(scratch_, each->gemm->workspace());
  }
}

Product::Block Product::block(cublasLtHandle_t blas, std::int64_t rows, std::int64_t columns,
                              const Alignment& alignment) const {
  const ops::ProductShape& s = shape_;
  const ops::ProductRoute& r = route_;
  Block made{.rows = rows,
             .columns = columns,
             .m = ops::padded_rows(s, r, rows),
             .n = ops::padded_columns(s, r, columns)};
  // What the address of a block that is not the first is a multiple of.
  const auto blocks_at = [&](Bytes first, std::int64_t row_step, std::int64_t column_step) {
    Bytes aligned = first;
    if (r.rows < s.m) aligned = std::min(aligned, alignment_of_step(row_step, s.dtype));
    if (r.columns < s.n) aligned = std::min(aligned, alignment_of_step(column_step, s.dtype));
    return aligned;
  };
  GemmSpec spec{
      .m = made.m, .n = made.n, .k = r.k, .batches = s.batches, .bias = s.bias, .tf32 = s.tf32};
  spec.a = {.dtype = s.dtype, .transposed = s.transpose_a != r.flip_a};
  spec.b = {.dtype = s.dtype, .transposed = s.transpose_b != r.flip_b};
  spec.c = {.dtype = s.dtype};
  if (r.copy_a) {
    spec.a.stride = spec.a.transposed ? made.m : r.k;
    spec.a.step = s.one_a ? 0 : made.m * r.k;
  } else {
    spec.a.stride = s.transpose_a ? s.m : s.k;
    spec.a.step = s.one_a ? 0 : s.m * s.k;
    spec.a.alignment = blocks_at(alignment.a, s.transpose_a ? r.rows : r.rows * s.k, 0);
  }
  if (r.copy_b) {
    spec.b.stride = spec.b.transposed ? r.k : made.n;
    spec.b.step = s.one_b ? 0 : r.k * made.n;
  } else {
    spec.b.stride = s.transpose_b ? s.k : s.n;
    spec.b.step = s.one_b ? 0 : s.k * s.n;
    spec.b.alignment = blocks_at(alignment.b, 0, s.transpose_b ? r.columns * s.k : r.columns);
  }
  if (r.copy_c) {
    spec.c.stride = made.n;
    spec.c.step = made.m * made.n;
  } else {
    spec.c.stride = s.n;
    spec.c.step = s.m * s.n;
    spec.c.alignment = blocks_at(alignment.c, r.rows * s.n, r.columns);
  }
  made.gemm.emplace(blas, spec, r.scratch);
  return made;
}

void Product::run(cublasLtHandle_t blas, cudaStream_t stream, const void* a, const void* b, void* c,
                  const void* bias, void* workspace) const {
  const ops::ProductShape& s = shape_;
  const ops::ProductRoute& r = route_;
  auto* copy_a = static_cast<std::byte*>(workspace);
  std::byte* copy_b = copy_a + r.a;
  std::byte* behind = copy_b + r.b;
  for (std::int64_t i = 0; i < s.m; i += r.rows) {
    for (std::int64_t j = 0; j < s.n; j += r.columns) {
      const bool whole = s.m - i >= r.rows && s.n - j >= r.columns;
      const Block& block = whole ? main_ : last_;
      Operands operands{.a = at(a, s.transpose_a ? i : i * s.k, s.dtype),
                        .b = at(b, s.transpose_b ? j * s.k : j, s.dtype),
                        .c = at(c, i * s.n + j, s.dtype),
                        .bias = bias == nullptr ? nullptr : at(bias, j, s.dtype)};
      if (r.copy_a) {
        if (j == 0) copy_left(copy_a, operands.a, block, stream);
        operands.a = copy_a;
      }
      if (r.copy_b) {
        if (i == 0) copy_right(copy_b, operands.b, block, stream);
        operands.b = copy_b;
      }
      run_block(blas, stream, block, operands, behind);
    }
  }
}

void Product::copy_left(void* to, const void* a, const Block& block, cudaStream_t stream) const {
  const ops::ProductShape& s = shape_;
  const Padding padding{.count = s.one_a ? 1 : s.batches,
                        .rows = block.rows,
                        .columns = s.k,
                        .stride = s.transpose_a ? s.m : s.k,
                        .step = s.m * s.k,
                        .to_rows = block.m,
                        .to_columns = route_.k};
  copy(to, a, padding, s.transpose_a, route_.flip_a, s.dtype, stream);
}

void Product::copy_right(void* to, const void* b, const Block& block, cudaStream_t stream) const {
  const ops::ProductShape& s = shape_;
  const Padding padding{.count = s.one_b ? 1 : s.batches,
                        .rows = s.k,
                        .columns = block.columns,
                        .stride = s.transpose_b ? s.k : s.n,
                        .step = s.k * s.n,
                        .to_rows = route_.k,
                        .to_columns = block.n};
  copy(to, b, padding, s.transpose_b, route_.flip_b, s.dtype, stream);
}

void Product::run_block(cublasLtHandle_t blas, cudaStream_t stream, const Block& block,
                        const Operands& operands, std::byte* workspace) const {
  const ops::ProductShape& s = shape_;
  const ops::ProductRoute& r = route_;
  const auto [a, b, c, bias] = operands;
  std::byte* copy_c = workspace;
  std::byte* copy_bias = copy_c + r.c;
  std::byte* scratch = copy_bias + r.bias;
  if (!r.copy_c) return block.gemm->run(blas, stream, a, b, c, bias, scratch);
  const void* row = bias;
  if (r.bias != 0) {
    copy_padded(copy_bias, bias,
                {.rows = 1, .columns = block.columns, .to_rows = 1, .to_columns = block.n}, s.dtype,
                stream);
    row = copy_bias;
  }
  block.gemm->run(blas, stream, a, b, copy_c, row, scratch);
  copy_unpadded(c, copy_c,
                {.count = s.batches,
                 .rows = block.rows,
                 .columns = block.columns,
                 .stride = s.n,
                 .step = s.m * s.n,
                 .to_rows = block.m,
                 .to_columns = block.n},
                s.dtype, stream);
}

}  // namespace plimsoll::cuda

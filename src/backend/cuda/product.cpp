#include "backend/cuda/product.h"

#include <algorithm>

namespace plimsoll::cuda {
namespace {

const std::byte* at(const void* base, std::int64_t elements, DType dtype) {
  return static_cast<const std::byte*>(base) +
         elements * static_cast<std::int64_t>(dtype_size(dtype));
}

}  // namespace

Product::Product(cublasLtHandle_t blas, const ops::ProductShape& shape, const Alignment& alignment)
    : shape_(shape), route_(ops::product_route(shape)) {
  const ops::ProductShape& s = shape_;
  const ops::ProductRoute& r = route_;
  const auto operand = [&](bool copied, bool transposed, std::int64_t rows, std::int64_t columns,
                           bool one, Bytes aligned) {
    return GemmOperand{.dtype = s.dtype,
                       .stride = transposed ? rows : columns,
                       .transposed = transposed,
                       .step = one ? 0 : rows * columns,
                       .alignment = copied ? 256 : aligned};
  };
  GemmSpec spec{.m = r.m, .n = r.n, .k = r.k, .batches = s.batches, .tf32 = s.tf32};
  spec.a = operand(r.copy_a, s.transpose_a, r.copy_a ? r.m : s.m, r.copy_a ? r.k : s.k, s.one_a,
                   alignment.a);
  spec.b = operand(r.copy_b, s.transpose_b, r.copy_b ? r.k : s.k, r.copy_b ? r.n : s.n, s.one_b,
                   alignment.b);
  spec.c = operand(r.copy_c, false, r.m, r.n, false, alignment.c);
  r.sliced() ? choose_slices(blas, spec) : choose_whole(blas, spec);
}

void Product::choose_whole(cublasLtHandle_t blas, GemmSpec spec) {
  spec.bias = shape_.bias;
  main_.emplace(blas, spec, route_.scratch);
  scratch_ = main_->workspace();
}

void Product::choose_slices(cublasLtHandle_t blas, GemmSpec spec) {
  slice_a_ = spec.a.transposed ? route_.slice * spec.a.stride : route_.slice;
  slice_b_ = spec.b.transposed ? route_.slice : route_.slice * spec.b.stride;
  spec.c = {.dtype = DType::f32, .stride = route_.n, .step = route_.m * route_.n};
  GemmSpec last = spec;
  spec.k = route_.slice;
  spec.batches = route_.slices;
  spec.a.step = slice_a_;
  spec.b.step = slice_b_;
  main_.emplace(blas, spec, route_.scratch);
  scratch_ = main_->workspace();
  if (route_.rest == 0) return;
  const auto behind = [&](const GemmOperand& x, std::int64_t slice) {
    return std::min(x.alignment, alignment_of_step(route_.slices * slice, x.dtype));
  };
  last.k = route_.rest;
  last.a.alignment = behind(last.a, slice_a_);
  last.b.alignment = behind(last.b, slice_b_);
  last.c.alignment = alignment_of_step(route_.slices * route_.m * route_.n, DType::f32);
  rest_.emplace(blas, last, route_.scratch);
  scratch_ = std::max(scratch_, rest_->workspace());
}

void Product::run(cublasLtHandle_t blas, cudaStream_t stream, const void* a, const void* b, void* c,
                  const void* bias, void* workspace) const {
  const ops::ProductShape& s = shape_;
  const ops::ProductRoute& r = route_;
  if (r.plain()) return main_->run(blas, stream, a, b, c, bias, workspace);
  auto* next = static_cast<std::byte*>(workspace);
  const auto part = [&next](Bytes bytes) {
    std::byte* begin = next;
    next += bytes;
    return begin;
  };
  const auto copied = [&](const void* from, Bytes bytes, bool one, bool transposed,
                          std::int64_t rows, std::int64_t columns, std::int64_t to_rows,
                          std::int64_t to_columns) -> const void* {
    void* to = part(bytes);
    if (transposed) {
      std::swap(rows, columns);
      std::swap(to_rows, to_columns);
    }
    copy_padded(to, from, {one ? 1 : s.batches, rows, columns, to_rows, to_columns}, s.dtype,
                stream);
    return to;
  };
  if (r.copy_a) a = copied(a, r.a, s.one_a, s.transpose_a, s.m, s.k, r.m, r.k);
  if (r.copy_b) b = copied(b, r.b, s.one_b, s.transpose_b, s.k, s.n, r.k, r.n);
  void* result = r.copy_c ? part(r.c) : c;
  if (r.bias != 0) bias = copied(bias, r.bias, true, false, 1, s.n, 1, r.n);
  if (!r.sliced()) {
    main_->run(blas, stream, a, b, result, bias, next);
    if (r.copy_c) {
      copy_unpadded(c, result, {s.batches, s.m, s.n, r.m, r.n}, s.dtype, stream);
    }
    return;
  }
  auto* partials = reinterpret_cast<float*>(part(r.partials));
  main_->run(blas, stream, a, b, partials, nullptr, next);
  if (rest_) {
    rest_->run(blas, stream, at(a, r.slices * slice_a_, s.dtype),
               at(b, r.slices * slice_b_, s.dtype), partials + r.slices * r.m * r.n, nullptr, next);
  }
  add_partial_sums(c, partials, bias,
                   {.parts = r.slices + (rest_ ? 1 : 0),
                    .rows = s.m,
                    .columns = s.n,
                    .stride = r.n,
                    .step = r.m * r.n},
                   s.dtype, stream);
}

}  // namespace plimsoll::cuda

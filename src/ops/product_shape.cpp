#include <plimsoll/ops/product_shape.h>

#include <algorithm>

#include <plimsoll/ops/tf32.h>

#include "ops/blocks.h"

namespace plimsoll::ops {
namespace {

/// Batches that one call takes: a grid's depth has 16 bits.
constexpr std::int64_t kMostBatches = 32768;

/// Steps of an input's batch dimensions, one for each of the output's; 0 where it broadcasts.
std::vector<std::int64_t> batch_steps(const Shape& out, const Shape& in) {
  std::vector<std::int64_t> steps(static_cast<std::size_t>(out.rank() - 2), 0);
  const int extra = out.rank() - in.rank();
  std::int64_t step = 1;
  for (int i = out.rank() - 3; i >= extra; --i) {
    const std::int64_t extent = in[i - extra];
    if (extent != 1) steps[static_cast<std::size_t>(i)] = step;
    step *= extent;
  }
  return steps;
}

/// The batch dimensions, outer ones first, as few as tell where every matrix is.
std::vector<BatchDim> batch_dims(const Shape& out, const Shape& a, const Shape& b) {
  const std::vector<std::int64_t> steps_a = batch_steps(out, a);
  const std::vector<std::int64_t> steps_b = batch_steps(out, b);
  std::vector<BatchDim> dims;
  for (int i = 0; i < out.rank() - 2; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const BatchDim next{out[i], steps_a[at], steps_b[at]};
    if (next.extent == 1) continue;
    if (!dims.empty() && dims.back().step_a == next.step_a * next.extent &&
        dims.back().step_b == next.step_b * next.extent) {
      dims.back() = {dims.back().extent * next.extent, next.step_a, next.step_b};
    } else {
      dims.push_back(next);
    }
  }
  return dims;
}

/// Batches of a call: fewer than there are where copies pay and those of all are too large.
std::int64_t batches_to_copy(const ProductShape& s) {
  if (product_route(s).copied()) return s.batches;
  ProductShape fewer = s;
  fewer.batches = 1;
  const ProductRoute one = product_route(fewer);
  if (!one.copied()) return s.batches;
  const auto fitting = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(kMostProductCopies / one.parts()), 1, s.batches);
  const std::int64_t calls = blocks(s.batches, fitting);
  fewer.batches = blocks(s.batches, calls);
  return product_route(fewer).copied() ? fewer.batches : s.batches;
}

void finish(Products& products) {
  for (const BatchDim& dim : products.outer) {
    if (dim.extent == 0) products.inner.extent = 0;
  }
  ProductShape& s = products.shape;
  s.one_a = products.inner.step_a == 0;
  s.one_b = products.inner.step_b == 0;
  s.batches = std::min(products.inner.extent, kMostBatches);
  if (s.batches > 1) s.batches = batches_to_copy(s);
}

}  // namespace

std::int64_t Products::calls() const {
  std::int64_t calls = inner.extent == 0 ? 0 : (inner.extent + shape.batches - 1) / shape.batches;
  for (const BatchDim& dim : outer) calls *= dim.extent;
  return calls;
}

std::int64_t Products::batches_left() const {
  return shape.batches == 0 ? 0 : inner.extent % shape.batches;
}

bool Products::empty() const { return shape.m == 0 || shape.n == 0 || inner.extent == 0; }

Products products_of_matmul(const OpInputs& in, std::span<const TensorType> out) {
  Products products;
  ProductShape& s = products.shape;
  const Shape& c = out[0].shape;
  s.transpose_a = in.attributes().flag("transpose_a");
  s.transpose_b = in.attributes().flag("transpose_b");
  s.dtype = in.dtype(0);
  s.tf32 = s.dtype == DType::f32 && uses_tf32(in.attributes());
  s.m = c.dim(-2);
  s.n = c.dim(-1);
  s.k = in.shape(0).dim(s.transpose_a ? -2 : -1);
  std::vector<BatchDim> dims = batch_dims(c, in.shape(0), in.shape(1));
  if (!dims.empty()) {
    products.inner = dims.back();
    dims.pop_back();
  }
  // Rows of all batches follow each other.
  if (dims.empty() && products.inner.step_b == 0 && products.inner.step_a != 0 && !s.transpose_a) {
    s.m *= products.inner.extent;
    products.inner = {};
  }
  products.outer = std::move(dims);
  finish(products);
  return products;
}

Products products_of_linear(const OpInputs& in) {
  Products products;
  ProductShape& s = products.shape;
  const bool transposed = in.attributes().has("transposed") && in.attributes().flag("transposed");
  s.transpose_b = !transposed;
  s.dtype = in.dtype(0);
  s.tf32 = s.dtype == DType::f32 && uses_tf32(in.attributes());
  s.m = 1;
  for (int i = 0; i < in.shape(0).rank() - 1; ++i) s.m *= in.shape(0)[i];
  s.n = in.shape(1)[transposed ? 1 : 0];
  s.k = in.shape(1)[transposed ? 0 : 1];
  s.bias = in.count() > 2;
  finish(products);
  return products;
}

Bytes products_workspace(const Products& products) {
  if (products.empty() || products.shape.k == 0) return 0;
  Bytes most = product_route(products.shape).total();
  if (const std::int64_t left = products.batches_left(); left != 0) {
    ProductShape last = products.shape;
    last.batches = left;
    most = std::max(most, product_route(last).total());
  }
  return most;
}

}  // namespace plimsoll::ops

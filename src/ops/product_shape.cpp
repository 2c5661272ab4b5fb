#include "ops/product_shape.h"

#include <algorithm>

#include <plimsoll/ops/kernel.h>
#include <plimsoll/ops/tf32.h>

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

void finish(Products& products) {
  for (const BatchDim& dim : products.outer) {
    if (dim.extent == 0) products.inner.extent = 0;
  }
  ProductShape& s = products.shape;
  s.batches = std::min(products.inner.extent, kMostBatches);
  s.one_a = products.inner.step_a == 0;
  s.one_b = products.inner.step_b == 0;
}

std::int64_t round_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }
std::int64_t blocks(std::int64_t extent, std::int64_t of) { return (extent + of - 1) / of; }

// What the rules count with, as measured on an H200.
constexpr double kCopyBytes = 2.5e12;  ///< bytes per second of copies that add zeros
constexpr double kCopySeconds = 3e-6;  ///< what a copy takes at least
constexpr double kFast16 = 600e12;     ///< flops per second where rows are whole 16 bytes
constexpr double kSlow16 = 160e12;     ///< and where they are not
constexpr double kFastTf32 = 300e12;
constexpr double kSlowTf32 = 90e12;
constexpr Bytes kMostCopies = MiB(160);
constexpr Bytes kMostPartials = MiB(64);
constexpr Bytes kScratch = kWorkspaceSlot - kWorkspaceReserve;

Bytes bytes_of(std::int64_t elements, DType dtype) {
  return align_up(static_cast<Bytes>(elements) * dtype_size(dtype), 256);
}

/// Adds zeros where that pays. Dimensions that no operand has in rows stay as they are.
void pad(ProductRoute& route, const ProductShape& s) {
  const std::int64_t unit = product_unit(s.dtype, s.tf32);
  if (unit == 1) return;
  ProductRoute padded = route;
  padded.n = round_up(s.n, unit);
  if (s.transpose_a) padded.m = round_up(s.m, unit);
  if (!s.transpose_a || s.transpose_b) padded.k = round_up(s.k, unit);
  padded.copy_a = padded.k != s.k || padded.m != s.m;
  padded.copy_b = padded.k != s.k || padded.n != s.n;
  padded.copy_c = padded.m != s.m || padded.n != s.n;
  if (padded.plain()) return;
  const std::int64_t count_a = s.one_a ? 1 : s.batches;
  const std::int64_t count_b = s.one_b ? 1 : s.batches;
  if (padded.copy_a) padded.a = bytes_of(count_a * padded.m * padded.k, s.dtype);
  if (padded.copy_b) padded.b = bytes_of(count_b * padded.k * padded.n, s.dtype);
  if (padded.copy_c) padded.c = bytes_of(s.batches * padded.m * padded.n, s.dtype);
  if (padded.n != s.n && s.bias) padded.bias = bytes_of(padded.n, s.dtype);
  if (padded.parts() > kMostCopies) return;
  const double flops = 2.0 * static_cast<double>(s.batches) *
                       static_cast<double>(round_up(s.m, 64)) *
                       static_cast<double>(round_up(s.n, 64)) * static_cast<double>(s.k);
  const double slow = s.tf32 ? kSlowTf32 : kSlow16;
  const double fast = s.tf32 ? kFastTf32 : kFast16;
  const int copies = static_cast<int>(padded.copy_a) + static_cast<int>(padded.copy_b) +
                     static_cast<int>(padded.copy_c);
  const double cost = 2 * static_cast<double>(padded.parts()) / kCopyBytes + copies * kCopySeconds;
  if (flops / slow - flops / fast > cost) route = padded;
}

/// Cuts k into slices where there are few blocks of results. Batches are left to the library.
void cut(ProductRoute& route, const ProductShape& s) {
  constexpr std::int64_t kBlock = 128;
  constexpr std::int64_t kProcessors = 132;
  constexpr std::int64_t kLeastSlice = 512;
  constexpr std::int64_t kMostSlices = 128;
  constexpr std::int64_t kUnit = 8;
  if (s.batches != 1 || s.dtype == DType::f64) return;
  const std::int64_t results = blocks(s.m, kBlock) * blocks(s.n, kBlock);
  std::int64_t slices = std::min({kProcessors / results, route.k / kLeastSlice, kMostSlices});
  const std::int64_t fitting = static_cast<std::int64_t>(kMostPartials) / (route.m * route.n * 4);
  slices = std::min(slices, fitting - 1);
  if (slices < 3) return;
  route.slices = slices;
  route.slice = route.k / slices / kUnit * kUnit;
  route.rest = route.k - slices * route.slice;
  const std::int64_t parts = slices + (route.rest != 0 ? 1 : 0);
  route.partials = bytes_of(parts * route.m * route.n, DType::f32);
  // The sum reads them as they are, and adds the bias.
  route.copy_c = false;
  route.c = 0;
  route.bias = 0;
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

std::int64_t product_unit(DType dtype, bool tf32) {
  const bool units = tf32 || dtype == DType::f16 || dtype == DType::bf16;
  return units ? static_cast<std::int64_t>(16 / dtype_size(dtype)) : 1;
}

ProductRoute product_route(const ProductShape& s) {
  ProductRoute route{.m = s.m, .n = s.n, .k = s.k, .scratch = kScratch};
  if (s.m == 0 || s.n == 0 || s.k == 0 || s.batches == 0) return route;
  pad(route, s);
  cut(route, s);
  return route;
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

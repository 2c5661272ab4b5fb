// The rules by which products are computed: see product_shape.h.
#include <algorithm>
#include <optional>

#include <plimsoll/ops/kernel.h>

#include <plimsoll/ops/product_shape.h>

#include "ops/blocks.h"

namespace plimsoll::ops {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

// What the rules count with, as measured on an H200.
constexpr double k16 = 680e12;    ///< flops per second of large products in 16 bits
constexpr double kTf32 = 370e12;  ///< and in TF32
constexpr double kTransposedTf32 = 215e12;
constexpr double kFullRate = 50e12;
constexpr double kCopyBytes = 2.5e12;  ///< bytes per second of copies that add zeros
constexpr double kCopySeconds = 3e-6;  ///< what a copy takes at least
constexpr Bytes kScratch = kWorkspaceSlot - kWorkspaceReserve;

Bytes bytes_of(std::int64_t elements, DType dtype) {
  return align_up(static_cast<Bytes>(elements) * dtype_size(dtype), 256);
}

/// The route's extents and the bytes of its copies, for as many rows and columns as it takes at a
/// time.
void measure(ProductRoute& r, const ProductShape& s) {
  r.m = padded_rows(s, r, r.rows);
  r.n = padded_columns(s, r, r.columns);
  const std::int64_t count_a = s.one_a ? 1 : s.batches;
  const std::int64_t count_b = s.one_b ? 1 : s.batches;
  r.a = r.copy_a ? bytes_of(count_a * r.m * r.k, s.dtype) : 0;
  r.b = r.copy_b ? bytes_of(count_b * r.k * r.n, s.dtype) : 0;
  r.c = r.copy_c ? bytes_of(s.batches * r.m * r.n, s.dtype) : 0;
  r.bias = r.copy_c && s.bias ? bytes_of(r.n, s.dtype) : 0;
}

/// Takes so many rows or columns at a time that the copies fit. False if that would be too few to
/// be fast.
bool fit_copies(ProductRoute& r, const ProductShape& s) {
  constexpr std::int64_t kStep = 128;
  constexpr std::int64_t kLeast = 512;
  measure(r, s);
  if (r.parts() <= kMostProductCopies) return true;
  if (s.batches != 1) return false;
  std::int64_t fewest = 0;
  ProductRoute best;
  for (const bool by_rows : {true, false}) {
    ProductRoute cut = r;
    std::int64_t& taken = by_rows ? cut.rows : cut.columns;
    const std::int64_t all = taken;
    for (std::int64_t count = 2; all / count >= kLeast; ++count) {
      taken = round_up((all + count - 1) / count, kStep);
      measure(cut, s);
      if (cut.parts() > kMostProductCopies) continue;
      if (fewest == 0 || count < fewest) best = cut;
      fewest = fewest == 0 ? count : std::min(fewest, count);
      break;
    }
  }
  if (fewest != 0) r = best;
  return fewest != 0;
}

/// The route with copies so that all rows are whole 16 bytes, and with one of the factors turned
/// round. Dimensions that no operand has in rows stay as they are. nullopt if nothing needs a copy,
/// or copies take too much.
std::optional<ProductRoute> copied_route(ProductRoute r, const ProductShape& s, bool flip_a,
                                         bool flip_b) {
  const std::int64_t unit = product_unit(s.dtype, s.tf32);
  r.flip_a = flip_a;
  r.flip_b = flip_b;
  const bool rows_of_m = s.transpose_a != flip_a;
  const bool rows_of_n = s.transpose_b == flip_b;
  if (!rows_of_m || !rows_of_n) r.k = round_up(s.k, unit);
  const bool more_k = r.k != s.k;
  const bool more_m = rows_of_m && s.m % unit != 0;
  const bool more_n = s.n % unit != 0;
  r.copy_a = flip_a || more_k || more_m;
  r.copy_b = flip_b || more_k || more_n;
  r.copy_c = more_m || more_n;
  if (!r.copied() || !fit_copies(r, s)) return std::nullopt;
  return r;
}

/// About what a route takes, in seconds.
double estimate(const ProductRoute& r, const ProductShape& s) {
  const double flops = 2.0 * static_cast<double>(s.batches) *
                       static_cast<double>(round_up(s.m, 64)) *
                       static_cast<double>(round_up(s.n, 64)) * static_cast<double>(s.k);
  double seconds = flops / product_rate(s, r);
  const auto copies = [&](Bytes bytes, std::int64_t times) {
    if (bytes == 0) return;
    seconds +=
        static_cast<double>(times) * (2 * static_cast<double>(bytes) / kCopyBytes + kCopySeconds);
  };
  const std::int64_t blocks_m = blocks(s.m, r.rows);
  const std::int64_t blocks_n = blocks(s.n, r.columns);
  copies(r.a, blocks_m);
  copies(r.b, blocks_n);
  copies(r.c, blocks_m * blocks_n);
  return seconds;
}

/// Copies operands where that pays. Products with a vector, or of a few results, are bound by
/// memory: the library has kernels for them that read rows of any alignment at its full rate.
void copy(ProductRoute& route, const ProductShape& s) {
  constexpr std::int64_t kFewResults = 64;
  if (product_unit(s.dtype, s.tf32) == 1) return;
  if (s.m == 1 || s.n == 1 || s.m * s.n < kFewResults) return;
  const ProductRoute plain = route;
  double least = estimate(plain, s);
  const auto try_copies = [&](bool flip_a, bool flip_b) {
    const auto copied = copied_route(plain, s, flip_a, flip_b);
    if (!copied) return;
    const double seconds = estimate(*copied, s);
    if (seconds < least) route = *copied;
    least = std::min(least, seconds);
  };
  try_copies(false, false);
  if (!s.tf32 || !s.transpose_a) return;
  try_copies(true, false);
  if (!s.transpose_b) try_copies(false, true);
}

}  // namespace

std::int64_t product_unit(DType dtype, bool tf32) {
  const bool units = tf32 || dtype == DType::f16 || dtype == DType::bf16;
  return units ? static_cast<std::int64_t>(16 / dtype_size(dtype)) : 1;
}

Bytes product_alignment(const ProductShape& s) {
  const auto size = static_cast<std::int64_t>(dtype_size(s.dtype));
  std::int64_t alignment = 16;
  for (const std::int64_t row : {s.transpose_a ? s.m : s.k, s.transpose_b ? s.k : s.n, s.n}) {
    while (row * size % alignment != 0) alignment /= 2;
  }
  return static_cast<Bytes>(alignment);
}

double product_rate(const ProductShape& s, const ProductRoute& r) {
  const Bytes alignment = r.copied() ? 16 : product_alignment(s);
  const bool transpose_a = s.transpose_a != r.flip_a;
  if (product_unit(s.dtype, s.tf32) == 1) return kFullRate;
  if (s.tf32) {
    if (alignment >= 16) return transpose_a ? kTransposedTf32 : kTf32;
    return alignment >= 8 ? 150e12 : 115e12;
  }
  if (alignment >= 16) return k16;
  if (alignment >= 8) return 240e12;
  return alignment >= 4 ? 150e12 : 112e12;
}

std::int64_t padded_rows(const ProductShape& s, const ProductRoute& r, std::int64_t rows) {
  const bool in_rows = s.transpose_a != r.flip_a && r.copy_a;
  return in_rows ? round_up(rows, product_unit(s.dtype, s.tf32)) : rows;
}

std::int64_t padded_columns(const ProductShape& s, const ProductRoute& r, std::int64_t columns) {
  return r.copy_b ? round_up(columns, product_unit(s.dtype, s.tf32)) : columns;
}

ProductRoute product_route(const ProductShape& s) {
  ProductRoute route{
      .m = s.m, .n = s.n, .k = s.k, .rows = s.m, .columns = s.n, .scratch = kScratch};
  if (s.m == 0 || s.n == 0 || s.k == 0 || s.batches == 0) return route;
  copy(route, s);
  return route;
}

}  // namespace plimsoll::ops

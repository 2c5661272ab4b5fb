#include "plan/product_seconds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <plimsoll/ops/attention_route.h>
#include <plimsoll/ops/linear_cross_entropy_chunks.h>

namespace plimsoll::plan {
namespace {

// Fitted on an H200; rates are shares of the device's, which products of whole tiles exceed.

/// A block of results that a multiprocessor computes at a time.
struct Tile {
  std::int64_t m;
  std::int64_t n;
};
constexpr std::array<Tile, 12> kTiles = {{{256, 128},
                                          {128, 256},
                                          {192, 128},
                                          {128, 192},
                                          {128, 128},
                                          {128, 64},
                                          {64, 128},
                                          {64, 64},
                                          {32, 64},
                                          {64, 32},
                                          {16, 64},
                                          {64, 16}}};
using TileShares = std::array<double, kTiles.size()>;

/// How the library's kernels for a precision use the device.
struct Figures {
  double rate;            ///< of the device's
  TileShares tiles;       ///< of that rate, for each of kTiles; 0 where there is no such kernel
  double traffic;         ///< of the memory's time for everything, the least that a call takes
  double written;         ///< of the time for the result, which is not hidden behind arithmetic
  double vector_traffic;  ///< of the memory's time, where the result is a vector
  double vector_seconds;  ///< for each element of a vector's sum, until it is split
  double wave_seconds;    ///< until a block's first factors are there
  double whole_waves;     ///< how much of the last, unfilled wave is waited for
  double split_seconds;   ///< beside the traffic of partial sums,
  double split_traffic;   ///< of the memory's time for them
  double copies;          ///< of the bandwidth, for copies that add zeros
};

/// To 200 random products and to those of eight models.
constexpr Figures kProduct16 = {
    .rate = 1.22,
    .tiles = {1.02, 1.02, 0.9, 0.9, 1.08, 0.59, 0.59, 0.66, 0.27, 0.27, 0.22, 0.22},
    .traffic = 1.05,
    .written = 0.5,
    .vector_traffic = 2.4,
    .vector_seconds = 0.85e-9,
    .wave_seconds = 0.87e-6,
    .whole_waves = 0.17,
    .split_seconds = 2.6e-6,
    .split_traffic = 1.4,
    .copies = 0.57};
/// In 16 bits, of older kernels, which take rows of any alignment.
constexpr Figures kProductOld16 = {.rate = 1.22,
                                   .tiles = {0, 0, 0, 0, 1.2, 1.15, 1.15, 0, 0, 0, 0, 0},
                                   .traffic = 3.1,
                                   .written = 2.5,
                                   .vector_traffic = 2.4,
                                   .vector_seconds = 0.85e-9,
                                   .wave_seconds = 0.87e-6,
                                   .whole_waves = 0.17,
                                   .split_seconds = 2.6e-6,
                                   .split_traffic = 1.4,
                                   .copies = 0.57};
/// The rate and the shares of large tiles to products of models, the rest to 100 random products
/// each, bench/products.py's of seed 101.
constexpr Figures kProductTf32 = {
    .rate = 1.1,
    .tiles = {1.02, 1.02, 0.9, 0.9, 1.08, 0.53, 0.53, 0.29, 0.24, 0.24, 0.15, 0.15},
    .traffic = 1.25,
    .written = 1.27,
    .vector_traffic = 0.98,
    .vector_seconds = 1.93e-9,
    .wave_seconds = 0.87e-6,
    .whole_waves = 0.17,
    .split_seconds = 4.1e-6,
    .split_traffic = 2.27,
    .copies = 0.69};
constexpr Figures kProductF32 = {
    .rate = 0.91,
    .tiles = {1.02, 1.02, 0.9, 0.9, 1.08, 0.57, 0.57, 0.89, 0.27, 0.27, 0.37, 0.37},
    .traffic = 1.69,
    .written = 1.42,
    .vector_traffic = 1.71,
    .vector_seconds = 0.8e-9,
    .wave_seconds = 0.3e-6,
    .whole_waves = 0.65,
    .split_seconds = 3.1e-6,
    .split_traffic = 1.49,
    .copies = 0.57};

constexpr double kOldShare = 0.3;           ///< of the rate: what is slower runs in older kernels
constexpr std::int64_t kVectorSums = 4096;  ///< of a vector; longer ones are split
constexpr std::int64_t kLeastSplit = 256;
constexpr double kMostSplit = 1.5;  ///< blocks for each multiprocessor

const Figures& figures_of(DType dtype, bool tf32, double share, const DeviceDescription& device) {
  if (dtype_size(dtype) == 2) return share < kOldShare ? kProductOld16 : kProduct16;
  const bool has_tf32 = device.flops(DType::f32, true) > device.flops(DType::f32, false);
  return tf32 && has_tf32 ? kProductTf32 : kProductF32;
}

// Attention in one kernel: of the rate, with heads of up to 64 elements and of more.
constexpr double kFusedForward = 0.52;
constexpr double kFusedForwardWide = 0.82;
constexpr double kFusedGrad = 0.3;
constexpr double kFusedGradWide = 0.4;
constexpr std::int64_t kForwardTokens = 128;  ///< of a block that is computed as a whole
constexpr std::int64_t kGradTokens = 256;
constexpr double kFewTokens = 0.2;
constexpr double kFewTokensGrad = 0.245;
/// Products of thin matrices whose rows lie apart, beside those of whole ones.
constexpr double kChunked = 1.25;
constexpr double kChunkedTf32 = 1.9;
constexpr double kPlainShare = 0.1;  ///< of f32's rate, the plain attention kernels

double blocks(std::int64_t extent, std::int64_t of) {
  const std::int64_t count = (extent + of - 1) / of;
  return static_cast<double>(count);
}

double elements(std::int64_t a, std::int64_t b, std::int64_t c = 1) {
  return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

}  // namespace

double call_seconds(const ProductCall& c, const DeviceDescription& device) {
  const double memory = c.bytes / device.bytes_per_second;
  const Figures& figures = figures_of(c.dtype, c.tf32, c.share, device);
  if (c.m == 1 || c.n == 1) {
    return figures.vector_traffic * memory +
           figures.vector_seconds * static_cast<double>(std::min(c.k, kVectorSums)) +
           device.launch_seconds;
  }
  const double processors = std::max(1, device.processors);
  const double rate = figures.rate * device.flops(c.dtype, c.tf32) * c.share / processors;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < kTiles.size(); ++i) {
    const Tile& tile = kTiles[i];
    if (figures.tiles[i] == 0) continue;
    const double results =
        blocks(c.m, tile.m) * blocks(c.n, tile.n) * static_cast<double>(c.batches);
    for (int split = 1; split <= (figures.split_seconds > 0 ? 32 : 1); split *= 2) {
      if (split > 1 && (c.k / split < kLeastSplit || results * split > kMostSplit * processors)) {
        break;
      }
      const double filled = results * split / processors;
      const double waves = std::max(
          1.0, figures.whole_waves * std::ceil(filled) + (1 - figures.whole_waves) * filled);
      double seconds = waves * (figures.wave_seconds + 2 * elements(tile.m, tile.n, c.k / split) /
                                                           (rate * figures.tiles[i]));
      if (split > 1) {
        seconds += figures.split_seconds + figures.split_traffic * 8.0 * split *
                                               elements(c.m, c.n, c.batches) /
                                               device.bytes_per_second;
      }
      least = std::min(least, seconds);
    }
  }
  return std::max(least + figures.written * c.result / device.bytes_per_second,
                  figures.traffic * memory) +
         device.launch_seconds;
}

double products_seconds(const ops::Products& products, const DeviceDescription& device) {
  if (products.empty()) return 0;
  const ops::ProductShape& s = products.shape;
  const ops::ProductRoute r = ops::product_route(s);
  const auto size = static_cast<double>(dtype_size(s.dtype));
  const double a = elements(r.m, r.k, s.one_a ? 1 : s.batches);
  const double b = elements(r.k, r.n, s.one_b ? 1 : s.batches);
  const double c = elements(r.m, r.n, s.batches);
  ProductCall call{.m = r.m,
                   .n = r.n,
                   .k = r.k,
                   .batches = s.batches,
                   .dtype = s.dtype,
                   .tf32 = s.tf32,
                   .bytes = (a + b + c) * size,
                   .result = c * size};
  const ops::ProductShape best{.dtype = s.dtype, .tf32 = s.tf32};
  call.share = ops::product_rate(s, r) / ops::product_rate(best, {});
  double seconds = call_seconds(call, device);
  const double blocks_m = blocks(s.m, r.rows);
  const double blocks_n = blocks(s.n, r.columns);
  seconds *= blocks_m * blocks_n;
  const double copies_share = figures_of(s.dtype, s.tf32, call.share, device).copies;
  const auto copies = [&](Bytes part, double times) {
    if (part == 0) return;
    seconds += times * (device.launch_seconds +
                        2 * static_cast<double>(part) / (copies_share * device.bytes_per_second));
  };
  copies(r.a, blocks_m);
  copies(r.b, blocks_n);
  copies(r.c, blocks_m * blocks_n);
  return seconds * static_cast<double>(products.calls());
}

double head_seconds(const ops::HeadWork& s, const DeviceDescription& device) {
  if (s.tokens == 0 || s.features == 0 || s.classes == 0) return device.launch_seconds;
  const auto chunks = ops::linear_cross_entropy_chunks(s.tokens, s.features, s.classes, s.dtype);
  const auto size = static_cast<double>(dtype_size(s.dtype));
  const double logits = elements(chunks.rows, s.classes) * size;
  const double weight = elements(s.classes, s.features) * size;
  const auto product = [&](std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_a,
                           double bytes) {
    const ops::ProductShape shape{
        .m = m, .n = n, .k = k, .transpose_a = transpose_a, .dtype = s.dtype, .tf32 = s.tf32};
    const ops::ProductShape best{.dtype = s.dtype, .tf32 = s.tf32};
    // Rows of logits are padded.
    ops::ProductRoute route;
    route.copy_c = true;
    return call_seconds({.m = m,
                         .n = n,
                         .k = k,
                         .dtype = s.dtype,
                         .tf32 = s.tf32,
                         .share = ops::product_rate(shape, route) / ops::product_rate(best, route),
                         .bytes = bytes,
                         .result = elements(m, n) * size},
                        device);
  };
  double seconds = product(chunks.rows, s.classes, s.features, false, logits + weight);
  // Loss and gradient of each row, in its place.
  seconds += 2 * logits / device.bytes_per_second + device.launch_seconds;
  if (s.with_dx) seconds += product(chunks.rows, s.features, s.classes, false, logits + weight);
  if (s.with_dweight) {
    seconds += product(s.classes, s.features, chunks.rows, true,
                       logits + 8 * elements(s.classes, s.features));
  }
  return seconds * static_cast<double>(s.tokens) / static_cast<double>(chunks.rows);
}

namespace {

/// By matrix products, a chunk of scores at a time.
double chunked_seconds(const ops::AttentionShape& s, DType dtype, bool tf32, bool grad,
                       const DeviceDescription& device) {
  const ops::AttentionChunks chunks = ops::attention_chunks(s, dtype, grad);
  const std::int64_t across = chunks.of_batches ? s.batches : s.heads;
  const std::int64_t parts = (across + chunks.units - 1) / chunks.units;
  const auto calls = static_cast<double>(parts * (chunks.of_batches ? s.heads : s.batches));
  double seconds = 0;
  for (std::int64_t first = 0; first < s.queries; first += chunks.queries) {
    const std::int64_t queries = std::min(chunks.queries, s.queries - first);
    const std::int64_t keys = ops::chunk_keys(s, first + queries);
    const auto product = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
      return call_seconds(
          {.m = m, .n = n, .k = k, .batches = chunks.units, .dtype = dtype, .tf32 = tf32}, device);
    };
    seconds += product(queries, keys, s.size);
    // Scores come from the second-level cache, at about twice the memory's rate.
    const double scores = elements(queries, keys, chunks.units) *
                          static_cast<double>(dtype_size(dtype)) / (2 * device.bytes_per_second);
    seconds += device.launch_seconds + (grad ? 4 : 3) * scores;
    if (!grad) {
      seconds += product(queries, s.value_size, keys);
      continue;
    }
    seconds += product(queries, keys, s.value_size) + product(keys, s.value_size, queries) +
               product(queries, s.size, keys) + product(keys, s.size, queries);
  }
  return seconds * calls * (tf32 ? kChunkedTf32 : kChunked);
}

}  // namespace

double attention_seconds(const ops::AttentionShape& shape, DType dtype, bool tf32, bool grad,
                         const DeviceDescription& device) {
  const ops::AttentionShape s = ops::with_heads_apart(shape);
  const ops::AttentionRoute route = ops::attention_route(shape, dtype, grad);
  if (route == ops::AttentionRoute::products) return chunked_seconds(s, dtype, tf32, grad, device);
  const bool fused = route == ops::AttentionRoute::fused;
  const bool wide = std::max(s.size, s.value_size) > 64;
  std::int64_t queries = s.queries;
  std::int64_t keys = s.keys;
  double seen = s.causal ? 0.5 : 1.0;
  std::int64_t size = s.size;
  std::int64_t value_size = s.value_size;
  if (fused) {
    const std::int64_t block = grad ? kGradTokens : kForwardTokens;
    queries = (queries + block - 1) / block * block;
    keys = (keys + block - 1) / block * block;
    // Blocks on the diagonal are computed whole.
    if (s.causal)
      seen = std::min(1.0, 0.5 + 0.5 * static_cast<double>(kForwardTokens) /
                                     static_cast<double>(std::max(queries, keys)));
    size = value_size = wide ? 128 : 64;
  }
  const double pairs = elements(queries, keys, s.units()) * seen;
  const double sizes = grad
                           ? 3.0 * static_cast<double>(size) + 2.0 * static_cast<double>(value_size)
                           : static_cast<double>(size + value_size);
  const double flops = 2 * pairs * sizes;
  const auto rows = static_cast<double>(s.units()) * (elements(s.queries, s.size + s.value_size) +
                                                      elements(s.keys, s.size + s.value_size));
  const double bytes = (grad ? 2.5 : 1.0) * rows * static_cast<double>(dtype_size(dtype));
  double rate = kPlainShare * device.flops_f32;
  if (route == ops::AttentionRoute::few_tokens) {
    rate = (grad ? kFewTokensGrad : kFewTokens) * device.flops(dtype);
  }
  if (fused) {
    const double share =
        grad ? (wide ? kFusedGradWide : kFusedGrad) : (wide ? kFusedForwardWide : kFusedForward);
    rate = share * device.flops(dtype);
  }
  return std::max(flops / rate, bytes / device.bytes_per_second) + device.launch_seconds;
}

}  // namespace plimsoll::plan

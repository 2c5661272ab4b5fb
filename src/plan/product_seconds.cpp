#include "plan/product_seconds.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <plimsoll/ops/attention_route.h>
#include <plimsoll/ops/linear_cross_entropy_chunks.h>

namespace plimsoll::plan {
namespace {

// Fitted to sweeps over shapes on an H200; rates are shares of the device's.

/// A block of results that a multiprocessor computes at a time, and how much of the rate it gets.
struct Tile {
  std::int64_t m;
  std::int64_t n;
  double share;
};
constexpr std::array<Tile, 6> kTiles = {{{256, 128, 1.0},
                                         {128, 256, 1.0},
                                         {128, 128, 0.9},
                                         {128, 64, 0.7},
                                         {64, 128, 0.7},
                                         {64, 64, 0.5}}};
constexpr double kWaveSeconds = 1.2e-6;  ///< until the first block's factors are there
constexpr double kCopyShare = 0.6;       ///< of the bandwidth, for copies that add zeros
constexpr double kFusedForward = 0.55;   ///< of the rate, attention in one kernel
constexpr double kFusedGrad = 0.45;
constexpr double kFewTokens = 0.2;
constexpr double kPlainShare = 0.1;  ///< of f32's rate, the plain attention kernels

double blocks(std::int64_t extent, std::int64_t of) {
  return static_cast<double>((extent + of - 1) / of);
}

double elements(std::int64_t a, std::int64_t b, std::int64_t c = 1) {
  return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

}  // namespace

double call_seconds(const ProductCall& c, const DeviceDescription& device) {
  const double processors = std::max(1, device.processors);
  const double rate = device.flops(c.dtype, c.tf32) * c.share / processors;
  double best = 0;
  for (const Tile& tile : kTiles) {
    const double results =
        blocks(c.m, tile.m) * blocks(c.n, tile.n) * static_cast<double>(c.batches);
    for (int split = 1; split <= 32; split *= 2) {
      if (split > 1 && (c.k / split < 256 || results * split > 2 * processors)) break;
      const double waves = std::ceil(results * split / processors);
      const double wave =
          kWaveSeconds + 2 * elements(tile.m, tile.n, c.k / split) / (rate * tile.share);
      double seconds = waves * wave;
      if (split > 1) {
        seconds += device.launch_seconds +
                   8.0 * split * elements(c.m, c.n, c.batches) / device.bytes_per_second;
      }
      if (best == 0 || seconds < best) best = seconds;
    }
  }
  return std::max(best, c.bytes / device.bytes_per_second) + device.launch_seconds;
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
                   .bytes = (a + b + c) * size};
  const ops::ProductShape best{.dtype = s.dtype, .tf32 = s.tf32};
  call.share = ops::product_rate(s, r) / ops::product_rate(best, {});
  double seconds = 0;
  if (r.sliced()) {
    call.k = r.slice;
    call.batches = r.slices;
    call.bytes = (a + b) * size + 4 * c * static_cast<double>(r.slices);
    seconds += call_seconds(call, device) + device.launch_seconds +
               (4 * c * static_cast<double>(r.slices) + c * size) / device.bytes_per_second;
    if (r.rest != 0) {
      call.k = r.rest;
      call.batches = 1;
      call.bytes = 4 * c;
      seconds += call_seconds(call, device);
    }
  } else {
    seconds += call_seconds(call, device);
  }
  const double blocks_m = blocks(s.m, r.rows);
  const double blocks_n = blocks(s.n, r.columns);
  seconds *= blocks_m * blocks_n;
  const auto copies = [&](Bytes part, double times) {
    if (part == 0) return;
    seconds += times * (device.launch_seconds +
                        2 * static_cast<double>(part) / (kCopyShare * device.bytes_per_second));
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
                         .bytes = bytes},
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
  const auto calls = static_cast<double>((across + chunks.units - 1) / chunks.units) *
                     static_cast<double>(chunks.of_batches ? s.heads : s.batches);
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
  return seconds * calls;
}

}  // namespace

double attention_seconds(const ops::AttentionShape& shape, DType dtype, bool tf32, bool grad,
                         const DeviceDescription& device) {
  const ops::AttentionShape s = ops::with_heads_apart(shape);
  const ops::AttentionRoute route = ops::attention_route(shape, dtype, grad);
  if (route == ops::AttentionRoute::products) return chunked_seconds(s, dtype, tf32, grad, device);
  const double pairs = elements(s.queries, s.keys, s.units()) * (s.causal ? 0.5 : 1.0);
  const double sizes =
      grad ? 3.0 * static_cast<double>(s.size) + 2.0 * static_cast<double>(s.value_size)
           : static_cast<double>(s.size + s.value_size);
  const double flops = 2 * pairs * sizes;
  const auto rows = static_cast<double>(s.units()) * (elements(s.queries, s.size + s.value_size) +
                                                      elements(s.keys, s.size + s.value_size));
  const double bytes = (grad ? 2.5 : 1.0) * rows * static_cast<double>(dtype_size(dtype));
  double rate = kPlainShare * device.flops_f32;
  if (route == ops::AttentionRoute::few_tokens) rate = kFewTokens * device.flops(dtype);
  if (route == ops::AttentionRoute::fused) {
    rate = (grad ? kFusedGrad : kFusedForward) * device.flops(dtype);
  }
  return std::max(flops / rate, bytes / device.bytes_per_second) + device.launch_seconds;
}

}  // namespace plimsoll::plan

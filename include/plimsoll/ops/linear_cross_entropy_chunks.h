#pragma once

#include <algorithm>
#include <cstdint>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/dtype.h>

namespace plimsoll::ops {

/// How a GPU goes through linear_cross_entropy: chunks of tokens whose logits are there at a time.
/// A function of the shapes alone, so that a plan knows it without a GPU.
struct LinearCrossEntropyChunks {
  std::int64_t rows = 0;    ///< tokens in a chunk; the last one may have fewer
  std::int64_t stride = 0;  ///< elements from one row of logits to the next
  // Parts of the workspace, one after the other, each a multiple of 256 bytes.
  Bytes logits = 0;
  Bytes losses = 0;   ///< one for every token
  Bytes scratch = 0;  ///< for the products

  Bytes total() const { return logits + losses + scratch; }
};

inline LinearCrossEntropyChunks linear_cross_entropy_chunks(std::int64_t tokens,
                                                            std::int64_t features,
                                                            std::int64_t classes, DType dtype) {
  // 2048 tokens of 50257 classes in 16 bits. Each chunk adds to the gradient of the whole weight,
  // so that few large ones are faster.
  constexpr std::int64_t kLogits = std::int64_t{200} << 20;
  constexpr std::int64_t kMostRows = 2048;
  constexpr std::int64_t kFewestRows = 128;
  constexpr std::int64_t kScratch = std::int64_t{32} << 20;
  const auto round_up = [](std::int64_t value, std::int64_t to) {
    return (value + to - 1) / to * to;
  };
  const auto size = static_cast<std::int64_t>(dtype_size(dtype));
  const std::int64_t sum_size = dtype == DType::f64 ? 8 : 4;

  LinearCrossEntropyChunks c;
  c.stride = std::max<std::int64_t>(64, round_up(classes, 64));
  const std::int64_t fitting = kLogits / (c.stride * size) / kFewestRows * kFewestRows;
  const std::int64_t most = std::clamp(fitting, kFewestRows, kMostRows);
  // As many as needed, of about the same size.
  const std::int64_t count = std::max<std::int64_t>(1, (tokens + most - 1) / most);
  c.rows = std::min({tokens, most, round_up((tokens + count - 1) / count, 64)});
  c.logits = static_cast<Bytes>(round_up(c.rows * c.stride * size, 256));
  c.losses = static_cast<Bytes>(round_up(tokens * sum_size, 256));
  c.scratch =
      static_cast<Bytes>(std::min(kScratch, round_up(16 * c.rows * features * sum_size, 256)));
  return c;
}

}  // namespace plimsoll::ops

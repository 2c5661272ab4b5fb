#pragma once

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::ops {

/// Which elements of a head are turned together: i and i + size/2 (Hugging Face's llama, GPT-NeoX),
/// or 2i and 2i + 1 (the paper, the original llama).
enum class RopeStyle : std::uint8_t { halves, interleaved };

struct RopeOptions {
  RopeStyle style = RopeStyle::halves;
  std::int64_t size = 0;   ///< elements of a head; 0: those of a whole row
  std::int64_t heads = 0;  ///< heads of a row that are turned, the first ones; 0: all
};

/// Rotary position embedding (Su et al. 2021) of x [..., tokens, heads * size]: every pair of
/// elements is turned by the angle whose cosine and sine `cos` and `sin` [tokens, size / 2] have
/// for the row's token. They are f32, and f64 for f64. Heads of a row that are not turned stay as
/// they are, so that queries, keys and values can be one tensor. Throws InvalidArgument.
Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin, const RopeOptions& options = {});

}  // namespace plimsoll::ops

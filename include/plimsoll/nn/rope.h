#pragma once

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::nn {

/// Which elements of a head are turned together: i and i + size/2 (Hugging Face's llama, GPT-NeoX),
/// or 2i and 2i + 1 (the paper, the original llama).
enum class RopeStyle : std::uint8_t { halves, interleaved };

/// Cosines and sines of position * theta^(-2i / size): [tokens, size / 2] each, in f32 (f64 for
/// f64). One pair serves all layers of a model.
struct RopeTables {
  Tensor cos;
  Tensor sin;
};
/// For positions `first`, first + 1, ..., where `like` is or in its trace. InvalidArgument for an
/// odd size.
RopeTables rope_tables(const Tensor& like, std::int64_t tokens, std::int64_t size,
                       double theta = 10000, std::int64_t first = 0);

/// Rotary position embedding of x [..., tokens, size], Su et al. 2021: every pair of elements is
/// turned by its angle. The result has x's dtype.
Tensor rope(const Tensor& x, const RopeTables& tables, RopeStyle style = RopeStyle::halves);

}  // namespace plimsoll::nn

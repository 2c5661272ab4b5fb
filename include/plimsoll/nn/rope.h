#pragma once

#include <plimsoll/ops/rope.h>

namespace plimsoll::nn {

using ops::RopeStyle;

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
/// The same for rows that are several heads, of which the first ones may be turned alone:
/// ops::rope.
Tensor rope(const Tensor& x, const RopeTables& tables, const ops::RopeOptions& options);

}  // namespace plimsoll::nn

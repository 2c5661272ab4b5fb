#pragma once

#include <plimsoll/data/image/resize.h>

#include "data/image/workspace.h"

namespace plimsoll::image {

/// For every output sample of one axis: the first source sample and `span` weights. Samples past
/// the end of the source have weight 0 and are not to be read.
struct AxisWeights {
  int span = 0;
  int* first = nullptr;
  float* weights = nullptr;

  const float* of(int i) const { return weights + static_cast<std::ptrdiff_t>(i) * span; }
};

/// Whether a resize is a weighted sum along each axis, which all but nearest and area are.
/// The weights are those that TensorFlow's kernels arrive at, in its float arithmetic:
/// ResizeBicubic without antialias, ScaleAndTranslate with it.
AxisWeights axis_weights(int out, int in, const ResizeOptions& options, Workspace& workspace);

/// How many weights each output sample has.
int axis_span(int out, int in, const ResizeOptions& options);
Bytes axis_weights_cost(int out, int in, const ResizeOptions& options);

}  // namespace plimsoll::image

#include "data/image/resize_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plimsoll::image {
namespace {

constexpr float kSmallestSum = 1000.0F * std::numeric_limits<float>::min();

float radius(Filter filter) { return filter == Filter::bicubic ? 2.0F : 1.0F; }

float triangle(float x) { return x < 1.0F ? 1.0F - x : 0.0F; }

float keys_cubic(float x) {
  if (x >= 2.0F) return 0.0F;
  if (x >= 1.0F) return ((-0.5F * x + 2.5F) * x - 4.0F) * x + 2.0F;
  return ((1.5F * x - 2.5F) * x) * x + 1.0F;
}

// TensorFlow's ScaleAndTranslate takes the scale, not its inverse.
float inverse_scale(int out, int in) {
  const float scale = static_cast<float>(out) / static_cast<float>(in);
  return static_cast<float>(1.0 / scale);
}

int antialias_span(int out, int in, Filter filter) {
  const float kernel_scale = std::max(inverse_scale(out, in), 1.0F);
  return std::min(2 * static_cast<int>(std::ceil(radius(filter) * kernel_scale)) + 1, in);
}

void normalise(float* weights, int count) {
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += weights[i];
  if (std::abs(sum) < kSmallestSum) return;
  const float factor = 1.0F / sum;
  for (int i = 0; i < count; ++i) weights[i] *= factor;
}

void antialias_weights(AxisWeights& axis, int out, int in, Filter filter) {
  const float inverse = inverse_scale(out, in);
  const float kernel_scale = std::max(inverse, 1.0F);
  const float reach = radius(filter) * kernel_scale;
  const float kernel_factor = 1.0F / kernel_scale;
  for (int x = 0; x < out; ++x) {
    float* weights = axis.weights + static_cast<std::ptrdiff_t>(x) * axis.span;
    std::fill_n(weights, axis.span, 0.0F);
    const float at = (static_cast<float>(x) + 0.5F) * inverse;
    const int first = std::clamp(static_cast<int>(std::ceil(at - reach - 0.5F)), 0, in - 1);
    const int end = std::clamp(static_cast<int>(std::floor(at + reach - 0.5F)), 0, in - 1) + 1;
    for (int i = first; i < end; ++i) {
      const float distance = std::abs((static_cast<float>(i) + 0.5F - at) * kernel_factor);
      weights[i - first] = filter == Filter::bicubic ? keys_cubic(distance) : triangle(distance);
    }
    normalise(weights, end - first);
    axis.first[x] = first;
  }
}

// ResizeBicubic looks its weights up at 1/1024 of a pixel.
float cubic_at(int step, int whole) {
  constexpr double kA = -0.5;
  auto x = static_cast<float>(step * 1.0 / 1024);
  if (whole == 0) return static_cast<float>(((kA + 2) * x - (kA + 3)) * x * x + 1);
  x = static_cast<float>(x + 1.0);
  return static_cast<float>(((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA);
}

void cubic_weights(AxisWeights& axis, int out, int in) {
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  for (int x = 0; x < out; ++x) {
    const float at = (static_cast<float>(x) + 0.5F) * scale - 0.5F;
    const int low = static_cast<int>(std::floor(at));
    const int step = static_cast<int>(std::lrint((at - static_cast<float>(low)) * 1024));
    const float all[4] = {cubic_at(step, 1), cubic_at(step, 0), cubic_at(1024 - step, 0),
                          cubic_at(1024 - step, 1)};
    float* weights = axis.weights + static_cast<std::ptrdiff_t>(x) * axis.span;
    std::fill_n(weights, axis.span, 0.0F);
    const int first = std::clamp(low - 1, 0, std::max(in - axis.span, 0));
    for (int i = 0; i < 4; ++i) {
      const int source = low - 1 + i;
      if (source >= 0 && source < in) weights[source - first] = all[i];
    }
    normalise(weights, axis.span);
    axis.first[x] = first;
  }
}

}  // namespace

int axis_span(int out, int in, const ResizeOptions& options) {
  return options.antialias ? antialias_span(out, in, options.filter) : std::min(4, in);
}

Bytes axis_weights_cost(int out, int in, const ResizeOptions& options) {
  const auto n = static_cast<Bytes>(out);
  return Workspace::cost(n * sizeof(int)) +
         Workspace::cost(n * static_cast<Bytes>(axis_span(out, in, options)) * sizeof(float));
}

AxisWeights axis_weights(int out, int in, const ResizeOptions& options, Workspace& workspace) {
  AxisWeights axis;
  axis.span = axis_span(out, in, options);
  axis.first = workspace.take_array<int>(static_cast<std::size_t>(out));
  axis.weights = workspace.take_array<float>(static_cast<std::size_t>(out) *
                                             static_cast<std::size_t>(axis.span));
  if (options.antialias) {
    antialias_weights(axis, out, in, options.filter);
  } else {
    cubic_weights(axis, out, in);
  }
  return axis;
}

}  // namespace plimsoll::image

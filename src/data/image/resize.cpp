#include <plimsoll/data/image/resize.h>

#include <algorithm>
#include <cmath>
#include <string>

#include <plimsoll/base/error.h>

#include "data/image/resize_weights.h"
#include "data/image/row_resizer.h"
#include "data/image/weighted_resizer.h"

namespace plimsoll::image {
namespace {

float scale_of(int out, int in) { return static_cast<float>(in) / static_cast<float>(out); }

template <class T>
void nearest(View<float> out, View<const T> in) {
  const float row_scale = scale_of(out.height, in.height);
  const float column_scale = scale_of(out.width, in.width);
  const auto source = [](int i, float scale, int size) {
    return std::min(static_cast<int>(std::floor((static_cast<float>(i) + 0.5F) * scale)), size - 1);
  };
  for (int y = 0; y < out.height; ++y) {
    const int from = source(y, row_scale, in.height);
    for (int x = 0; x < out.width; ++x) {
      const T* pixel = in.pixel(from, source(x, column_scale, in.width));
      for (int c = 0; c < out.channels; ++c) out.pixel(y, x)[c] = static_cast<float>(pixel[c]);
    }
  }
}

template <class T>
void bilinear(View<float> out, View<const T> in, Workspace& workspace) {
  const AxisMap rows{0, in.height, out.height};
  const AxisMap columns{0, in.width, out.width};
  auto* taps = workspace.take_array<AxisMap::Tap>(static_cast<std::size_t>(out.width));
  for (int x = 0; x < out.width; ++x) taps[x] = columns.tap(x);
  for (int y = 0; y < out.height; ++y) {
    const AxisMap::Tap row = rows.tap(y);
    for (int x = 0; x < out.width; ++x) {
      const T* top_left = in.pixel(row.low, taps[x].low);
      const T* top_right = in.pixel(row.low, taps[x].high());
      const T* bottom_left = in.pixel(row.high(), taps[x].low);
      const T* bottom_right = in.pixel(row.high(), taps[x].high());
      for (int c = 0; c < out.channels; ++c) {
        const auto tl = static_cast<float>(top_left[c]);
        const auto bl = static_cast<float>(bottom_left[c]);
        const float top = tl + (static_cast<float>(top_right[c]) - tl) * taps[x].t;
        const float bottom = bl + (static_cast<float>(bottom_right[c]) - bl) * taps[x].t;
        out.pixel(y, x)[c] = top + (bottom - top) * row.t;
      }
    }
  }
}

/// Rows first, then columns, as TensorFlow does.
template <class T>
void separable(View<float> out, View<const T> in, const ResizeOptions& options,
               Workspace& workspace) {
  const AxisWeights rows = axis_weights(out.height, in.height, options, workspace);
  const AxisWeights columns = axis_weights(out.width, in.width, options, workspace);
  const int row_size = in.width * in.channels;
  auto* blended = workspace.take_array<float>(static_cast<std::size_t>(row_size));
  for (int y = 0; y < out.height; ++y) {
    std::fill_n(blended, row_size, 0.0F);
    for (int i = 0; i < rows.span && rows.first[y] + i < in.height; ++i) {
      const float weight = rows.of(y)[i];
      if (weight == 0.0F) continue;
      const T* row = in.row(rows.first[y] + i);
      for (int j = 0; j < row_size; ++j) blended[j] += weight * static_cast<float>(row[j]);
    }
    for (int x = 0; x < out.width; ++x) {
      const int span = std::min(columns.span, in.width - columns.first[x]);
      const float* first = blended + std::ptrdiff_t{columns.first[x]} * in.channels;
      for (int c = 0; c < out.channels; ++c) {
        float sum = 0;
        for (int i = 0; i < span; ++i) sum += columns.of(x)[i] * first[i * in.channels + c];
        out.pixel(y, x)[c] = sum;
      }
    }
  }
}

/// The source samples [first, end) under one output sample, and how much of sample i is.
struct Cell {
  float from;
  float to;
  float scale;
  int first;
  int end;

  Cell(int i, float step)
      : from(static_cast<float>(i) * step),
        to(static_cast<float>(i + 1) * step),
        scale(step),
        first(static_cast<int>(std::floor(from))),
        end(static_cast<int>(std::ceil(to))) {}

  float share(int i) const {
    const auto at = static_cast<float>(i);
    if (at < from) return at + 1 > to ? scale : at + 1 - from;
    return at + 1 > to ? to - at : 1.0F;
  }
};

template <class T>
void area(View<float> out, View<const T> in) {
  const float row_scale = scale_of(out.height, in.height);
  const float column_scale = scale_of(out.width, in.width);
  const auto factor = static_cast<float>(1.0 / (row_scale * column_scale));
  for (int y = 0; y < out.height; ++y) {
    const Cell rows(y, row_scale);
    for (int x = 0; x < out.width; ++x) {
      const Cell columns(x, column_scale);
      for (int c = 0; c < out.channels; ++c) {
        float sum = 0;
        for (int i = rows.first; i < rows.end; ++i) {
          const T* row = in.row(std::clamp(i, 0, in.height - 1));
          float row_sum = 0;
          for (int j = columns.first; j < columns.end; ++j) {
            const int at = std::clamp(j, 0, in.width - 1);
            row_sum += static_cast<float>(row[at * in.channels + c]) * columns.share(j);
          }
          sum += row_sum * rows.share(i);
        }
        out.pixel(y, x)[c] = sum * factor;
      }
    }
  }
}

void check(Extent out, Extent in) {
  const auto text = [](const Extent& e) {
    return std::to_string(e.height) + " x " + std::to_string(e.width) + " x " +
           std::to_string(e.channels);
  };
  if (out.height < 1 || out.width < 1 || in.height < 1 || in.width < 1 || in.channels < 1 ||
      out.channels != in.channels) {
    throw InvalidArgument("[resize] cannot make " + text(out) + " of " + text(in) +
                          "; sizes must be positive and channels equal");
  }
}

template <class T>
void resize_any(View<float> out, View<const T> in, const ResizeOptions& options, Scratch& scratch) {
  const Extent to{out.height, out.width, out.channels};
  const Extent from{in.height, in.width, in.channels};
  check(to, from);
  Workspace workspace(scratch, resize_scratch(to, from, options));
  if (is_weighted(options)) {
    separable(out, in, options, workspace);
  } else if (options.filter == Filter::bilinear) {
    bilinear(out, in, workspace);
  } else if (options.filter == Filter::area) {
    area(out, in);
  } else {
    nearest(out, in);
  }
}

}  // namespace

Bytes resize_scratch(Extent out, Extent in, const ResizeOptions& options) {
  check(out, in);
  const Bytes taps = Workspace::cost(static_cast<Bytes>(out.width) * sizeof(AxisMap::Tap));
  if (!is_weighted(options)) return Workspace::kOverhead + taps;
  return Workspace::kOverhead + axis_weights_cost(out.height, in.height, options) +
         axis_weights_cost(out.width, in.width, options) +
         Workspace::cost(static_cast<Bytes>(in.width) * static_cast<Bytes>(in.channels) *
                         sizeof(float));
}

void resize(View<float> out, View<const std::uint8_t> in, const ResizeOptions& options,
            Scratch& scratch) {
  resize_any(out, in, options, scratch);
}

void resize(View<float> out, View<const float> in, const ResizeOptions& options, Scratch& scratch) {
  resize_any(out, in, options, scratch);
}

}  // namespace plimsoll::image

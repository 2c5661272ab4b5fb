#include "data/image/resize_by_rows.h"

#include <algorithm>
#include <string>

#include <plimsoll/base/error.h>
#include <plimsoll/data/image/resize_like_load.h>

#include "data/image/weighted_resizer.h"

namespace plimsoll::image {
namespace {

/// A row as the resizer takes it, four bytes per pixel.
void widen(std::uint8_t* out, const std::uint8_t* in, int width, int channels) {
  if (channels == 4) {
    std::copy_n(in, 4 * static_cast<std::size_t>(width), out);
    return;
  }
  for (int x = 0; x < width; ++x) {
    for (int c = 0; c < 4; ++c) out[4 * x + c] = in[channels * x + std::min(c, channels - 1)];
  }
}

void check(Extent out, Extent in) {
  if (out.height >= 1 && out.width >= 1 && in.height >= 1 && in.width >= 1 && in.channels >= 1 &&
      in.channels <= 4 && out.channels == in.channels) {
    return;
  }
  const auto text = [](const Extent& e) {
    return std::to_string(e.height) + " x " + std::to_string(e.width) + " x " +
           std::to_string(e.channels);
  };
  throw InvalidArgument("[resize] cannot make " + text(out) + " of " + text(in) +
                        "; sizes must be positive, and channels 1 to 4 and equal");
}

}  // namespace

bool resizes_by_rows(const ResizeOptions& options) {
  return is_weighted(options) || options.filter == Filter::bilinear;
}

Bytes resize_by_rows_cost(Extent out, Extent in, const ResizeOptions& options) {
  const Bytes row = Workspace::cost(4 * static_cast<Bytes>(in.width) + kRowSlack);
  return row + (is_weighted(options) ? WeightedResizer::cost({0, in.height, out.height},
                                                             {0, in.width, out.width}, options)
                                     : RowResizer::cost(out.width));
}

void resize_by_rows(View<const std::uint8_t> in, Extent out, const ResizeOptions& options,
                    const Placement& placement, Workspace& workspace, ColumnWeights weights) {
  const auto feed = [&](RowSink&& sink) {
    auto* const row =
        workspace.take_array<std::uint8_t>(4 * static_cast<std::size_t>(in.width) + kRowSlack);
    for (int y = 0; y < in.height; ++y) {
      if (!sink.wants(y)) continue;
      widen(row, in.row(y), in.width, in.channels);
      sink.consume(y, row);
    }
  };
  if (is_weighted(options)) {
    feed(WeightedResizer({0, in.height, out.height}, {0, in.width, out.width}, options, placement,
                         workspace));
  } else {
    feed(RowResizer({0, in.height, out.height}, {0, in.width, out.width}, placement, workspace,
                    weights));
  }
}

Bytes resize_like_load_scratch(Extent out, Extent in) {
  check(out, in);
  return Workspace::kOverhead + resize_by_rows_cost(out, in, {});
}

void resize_like_load(View<float> out, View<const std::uint8_t> in, Scratch& scratch) {
  resize_like_load(out, in, {}, scratch);
}

void resize_like_load(View<float> out, View<const std::uint8_t> in, const ResizeOptions& options,
                      Scratch& scratch) {
  if (!resizes_by_rows(options) || in.channels > 4) {
    resize(out, in, options, scratch);
    return;
  }
  const Extent to{out.height, out.width, out.channels};
  const Extent from{in.height, in.width, in.channels};
  check(to, from);
  Workspace workspace(scratch, Workspace::kOverhead + resize_by_rows_cost(to, from, options));
  Placement placement;
  placement.origin = out.data;
  placement.row_step = out.stride;
  placement.column_step = out.channels;
  placement.channel_step = 1;
  placement.channels = out.channels;
  resize_by_rows(in, to, options, placement, workspace);
}

}  // namespace plimsoll::image

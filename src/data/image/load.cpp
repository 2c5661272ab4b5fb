#include <plimsoll/data/image/load.h>

#include <algorithm>
#include <cmath>
#include <string>

#include <plimsoll/base/error.h>

#include "data/image/jpeg_planes.h"
#include "data/image/jpeg_rows.h"
#include "data/image/png_session.h"
#include "data/image/resize_by_rows.h"
#include "data/image/row_resizer.h"
#include "data/image/turn.h"
#include "data/image/weighted_resizer.h"

namespace plimsoll::image {
namespace {

Turn turn_for(const ImageInfo& info, const LoadOptions& options) {
  return options.apply_orientation ? turn_of(info.orientation) : Turn{};
}

/// The part of the stored picture to use.
Window source_window(const ImageInfo& info, const LoadOptions& options) {
  if (options.crop.whole()) return {0, 0, info.width, info.height};
  return stored_window(options.crop, turn_for(info, options), info.width, info.height);
}

void check(const ImageInfo& info, const LoadOptions& options) {
  if (options.height < 1 || options.width < 1) {
    throw InvalidArgument("[load] the result would be " + std::to_string(options.height) + " x " +
                          std::to_string(options.width) + " pixels; both must be positive");
  }
  if (options.channels != 1 && options.channels != 3 && options.channels != 4) {
    throw InvalidArgument("[load] channels is " + std::to_string(options.channels) +
                          "; it may be 1, 3 or 4");
  }
  for (int c = 0; c < options.channels; ++c) {
    if (options.deviation[c] == 0.0F) throw InvalidArgument("[load] a deviation is 0");
  }
  const Window& crop = options.crop;
  const bool transposed = turn_for(info, options).transpose;
  const int width = transposed ? info.height : info.width;
  const int height = transposed ? info.width : info.height;
  if (crop.whole()) return;
  if (crop.x < 0 || crop.y < 0 || crop.width < 1 || crop.height < 1 ||
      crop.x > width - crop.width || crop.y > height - crop.height) {
    throw InvalidArgument("[load] the crop of " + std::to_string(crop.width) + " x " +
                          std::to_string(crop.height) + " at " + std::to_string(crop.x) + ", " +
                          std::to_string(crop.y) + " is not inside the image of " +
                          std::to_string(width) + " x " + std::to_string(height));
  }
}

/// The result's size before it is turned.
Extent resized_extent(const ImageInfo& info, const LoadOptions& options) {
  return turn_for(info, options).transpose
             ? Extent{options.width, options.height, options.channels}
             : Extent{options.height, options.width, options.channels};
}

int choose_eighths(const ImageInfo& info, const LoadOptions& options) {
  const bool scales = options.allow_scaled && !is_weighted(options.resize);
  if (!scales || info.format != Format::jpeg) return 8;
  const Window window = source_window(info, options);
  const Extent result = resized_extent(info, options);
  // libjpeg-turbo has fast transforms for these only. The coded data are read in any case, and the
  // fewer samples there are of it the less is to do: so the smallest that is enough is the fastest,
  // except where the picture as a whole takes the way over planes and the smaller one does not.
  const bool planes = planes_supported(info, 8);
  for (const int eighths : {1, 2, 4}) {
    if (planes && !planes_supported(info, eighths)) continue;
    if (std::int64_t{window.width} * eighths >= std::int64_t{8} * result.width &&
        std::int64_t{window.height} * eighths >= std::int64_t{8} * result.height) {
      return eighths;
    }
  }
  return 8;
}

Placement placement_for(const ImageInfo& info, const LoadOptions& options, float* out) {
  const Turn turn = turn_for(info, options);
  const bool chw = options.layout == Layout::channels_first;
  const std::ptrdiff_t line = std::ptrdiff_t{options.width} * (chw ? 1 : options.channels);
  const std::ptrdiff_t step = chw ? 1 : options.channels;
  Placement p;
  p.channels = options.channels;
  p.channel_step = chw ? std::ptrdiff_t{options.height} * options.width : 1;
  // Stored rows run down the result or, turned, across it.
  p.row_step = turn.transpose ? step : line;
  p.column_step = turn.transpose ? line : step;
  p.mirror_columns = turn.mirror_columns != (options.flip && !turn.transpose);
  const bool mirror_rows = turn.mirror_rows != (options.flip && turn.transpose);
  const int rows = turn.transpose ? options.width : options.height;
  p.origin = mirror_rows ? out + (rows - 1) * p.row_step : out;
  if (mirror_rows) p.row_step = -p.row_step;
  for (int c = 0; c < 4; ++c) {
    const float deviation = c < options.channels ? options.deviation[c] : 1.0F;
    p.scale[c] = options.normalise ? 1.0F / (255.0F * deviation) : 1.0F;
    p.bias[c] = options.normalise && c < options.channels ? -options.mean[c] / deviation : 0.0F;
  }
  return p;
}

ColumnWeights weights_for(const LoadOptions& options) {
  return options.exact ? ColumnWeights::exact : ColumnWeights::fixed;
}

/// Rows of one byte become rows of four.
void widen(std::uint8_t* out, const std::uint8_t* in, int n) {
  for (int x = 0; x < n; ++x) std::fill_n(out + 4 * x, 4, in[x]);
}

/// Rows come in four bytes per pixel, gray ones in one.
int row_channels(const LoadOptions& options) { return options.channels == 1 ? 1 : 4; }

// libjpeg-turbo writes rows that are aligned to a vector past the caches; these are read at once.
constexpr int kOffAlignment = 16;

Bytes row_buffers(const ImageInfo& info) {
  const auto width = static_cast<Bytes>(info.width);
  return Workspace::cost(4 * width + kRowSlack + kOffAlignment) + Workspace::cost(width);
}

template <class Read>
void feed_rows(int width, int height, int channels, Workspace& workspace, RowSink& resizer,
               Read read) {
  auto* pixels =
      workspace.take_array<std::uint8_t>(std::size_t{4} * width + kRowSlack + kOffAlignment) +
      kOffAlignment;
  auto* gray = channels == 1 ? workspace.take_array<std::uint8_t>(width) : nullptr;
  for (int y = 0; y < height; ++y) {
    read(gray != nullptr ? gray : pixels);
    if (!resizer.wants(y)) continue;
    if (gray != nullptr) widen(pixels, gray, width);
    resizer.consume(y, pixels);
  }
}

void load_jpeg(std::span<const std::byte> data, const ImageInfo& info, const LoadOptions& options,
               const LoadPlan& plan, RowSink& resizer, Workspace& workspace) {
  JpegSession session(data, info, workspace);
  const J_COLOR_SPACE space = session.info().jpeg_color_space;
  const bool own = space == JCS_YCbCr || space == JCS_GRAYSCALE;
  if (plan.path == LoadPlan::Path::planes && own) {
    feed_planes(session, options.dct, plan.eighths, workspace, resizer);
  } else {
    JpegRows rows(session, row_channels(options), options.dct, plan.eighths, workspace);
    feed_rows(rows.width(), rows.height(), row_channels(options), workspace, resizer,
              [&](std::uint8_t* row) { rows.read(row); });
    session.finish();
  }
}

void load_png(std::span<const std::byte> data, const ImageInfo& info, const LoadOptions& options,
              RowSink& resizer, Workspace& workspace) {
  PngSession session(data, info, row_channels(options), workspace);
  feed_rows(info.width, info.height, row_channels(options), workspace, resizer,
            [&](std::uint8_t* row) { session.read(row); });
  session.finish();
}

/// Scratch from a workspace, which gives it back itself.
class InnerScratch final : public Scratch {
 public:
  explicit InnerScratch(Workspace& workspace) : workspace_(workspace) {}
  void* allocate(Bytes bytes) override { return workspace_.take_array<std::byte>(bytes); }
  void free(void*) noexcept override {}

 private:
  Workspace& workspace_;
};

void load_whole(std::span<const std::byte> data, const ImageInfo& info, const LoadOptions& options,
                const Placement& p, Workspace& workspace) {
  InnerScratch scratch(workspace);
  const int channels = options.channels;
  const auto picture =
      packed(workspace.take_array<std::uint8_t>(static_cast<std::size_t>(info.height) *
                                                static_cast<std::size_t>(info.width) *
                                                static_cast<std::size_t>(channels)),
             info.height, info.width, channels);
  decode(data, info, {.channels = channels, .dct = options.dct}, scratch, picture);
  const Window window = source_window(info, options);
  const View<const std::uint8_t> part{picture.pixel(window.y, window.x), window.height,
                                      window.width, channels, picture.stride};
  const Extent extent = resized_extent(info, options);
  if (resizes_by_rows(options.resize)) {
    resize_by_rows(part, extent, options.resize, p, workspace, weights_for(options));
    return;
  }
  const auto resized = packed(workspace.take_array<float>(static_cast<std::size_t>(extent.height) *
                                                          static_cast<std::size_t>(extent.width) *
                                                          static_cast<std::size_t>(channels)),
                              extent.height, extent.width, channels);
  resize(resized, part, options.resize, scratch);
  for (int y = 0; y < extent.height; ++y) {
    for (int x = 0; x < extent.width; ++x) {
      const float* pixel = resized.pixel(y, p.mirror_columns ? extent.width - 1 - x : x);
      float* target = p.row(y) + x * p.column_step;
      for (int c = 0; c < channels; ++c) {
        target[c * p.channel_step] = pixel[c] * p.scale[c] + p.bias[c];
      }
    }
    p.made(y);
  }
}

Bytes whole_scratch(const ImageInfo& info, const LoadOptions& options) {
  const Window window = source_window(info, options);
  const Extent extent = resized_extent(info, options);
  const Extent part{window.height, window.width, options.channels};
  const auto channels = static_cast<Bytes>(options.channels);
  return Workspace::cost(static_cast<Bytes>(info.height) * static_cast<Bytes>(info.width) *
                         channels) +
         Workspace::cost(info.scratch) + resize_by_rows_cost(extent, part, options.resize) +
         Workspace::cost(static_cast<Bytes>(extent.height) * static_cast<Bytes>(extent.width) *
                         channels * sizeof(float)) +
         Workspace::cost(resize_scratch(extent, part, options.resize));
}

/// Rows and columns as weighted sums count them.
Span rows_of(const Window& window, const Extent& extent) {
  return {window.y, window.height, extent.height};
}
Span columns_of(const Window& window, const Extent& extent) {
  return {window.x, window.width, extent.width};
}

Bytes sink_cost(const ImageInfo& info, const LoadOptions& options) {
  const Extent extent = resized_extent(info, options);
  const Window window = source_window(info, options);
  if (!is_weighted(options.resize)) return RowResizer::cost(extent.width);
  return WeightedResizer::cost(rows_of(window, extent), columns_of(window, extent), options.resize);
}

}  // namespace

LoadPlan plan_load(const ImageInfo& info, const LoadOptions& options) {
  check(info, options);
  LoadPlan plan;
  const bool interlaced = info.format == Format::png && info.several_passes;
  if (!resizes_by_rows(options.resize) || interlaced) {
    plan.path = LoadPlan::Path::whole;
    plan.scratch = Workspace::kOverhead + whole_scratch(info, options);
    return plan;
  }
  plan.eighths = choose_eighths(info, options);
  plan.scratch = Workspace::kOverhead + sink_cost(info, options);
  if (info.format == Format::png) {
    plan.scratch += PngSession::cost(info) + row_buffers(info);
    return plan;
  }
  Bytes reading = jpeg_memory_bound(info, true) + JpegRows::cost(info) + row_buffers(info);
  // Gray becomes gray, too; of colours that would be the luma, which libjpeg takes alone.
  const bool channels = options.channels == 3 || (options.channels == 1 && info.components == 1);
  if (channels && planes_supported(info, plan.eighths)) {
    plan.path = LoadPlan::Path::planes;
    // Rare files turn out not to be YCbCr and take the other path after all.
    reading = std::max(reading, jpeg_memory_bound(info, false) + planes_cost(info));
  }
  plan.scratch += reading;
  return plan;
}

namespace {

void load_to(std::span<const std::byte> data, const ImageInfo& info, const LoadOptions& options,
             const LoadPlan& plan, Scratch& scratch, const Placement& placement) {
  Workspace workspace(scratch, plan.scratch);
  if (plan.path == LoadPlan::Path::whole) {
    load_whole(data, info, options, placement, workspace);
    return;
  }
  const Window window = source_window(info, options);
  const Extent extent = resized_extent(info, options);
  const auto feed = [&](RowSink&& sink) {
    if (info.format == Format::jpeg) {
      load_jpeg(data, info, options, plan, sink, workspace);
    } else {
      load_png(data, info, options, sink, workspace);
    }
  };
  if (is_weighted(options.resize)) {
    feed(WeightedResizer(rows_of(window, extent), columns_of(window, extent), options.resize,
                         placement, workspace));
  } else {
    feed(RowResizer({window.y, window.height, extent.height, plan.eighths},
                    {window.x, window.width, extent.width, plan.eighths}, placement, workspace,
                    weights_for(options)));
  }
}

}  // namespace

void load(std::span<const std::byte> data, const ImageInfo& info, const LoadOptions& options,
          Scratch& scratch, float* out) {
  const LoadPlan plan = plan_load(info, options);
  load_to(data, info, options, plan, scratch, placement_for(info, options, out));
}

void load(std::span<const std::byte> data, const ImageInfo& info, const LoadOptions& options,
          Scratch& scratch, const RowStrip& strip) {
  const LoadPlan plan = plan_load(info, options);
  if (options.layout != Layout::channels_last || turn_for(info, options).any()) {
    throw InvalidArgument("[load] a result in strips can be neither planes nor turned");
  }
  if (strip.count < 1) throw InvalidArgument("[load] a strip without rows");
  Placement placement = placement_for(info, options, strip.rows);
  placement.strip = &strip;
  placement.rows = options.height;
  load_to(data, info, options, plan, scratch, placement);
}

}  // namespace plimsoll::image

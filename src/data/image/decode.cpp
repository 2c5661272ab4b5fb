#include <plimsoll/data/image/decode.h>

#include <algorithm>
#include <cstring>
#include <string>

#include <plimsoll/base/error.h>

#include "data/image/jpeg_planes.h"
#include "data/image/jpeg_rows.h"
#include "data/image/png_session.h"
#include "data/image/probe.h"
#include "data/image/turn.h"

namespace plimsoll::image {
namespace {

Bytes picture_bytes(const ImageInfo& info, int channels) {
  return Workspace::cost(static_cast<Bytes>(info.width) * static_cast<Bytes>(info.height) *
                         static_cast<Bytes>(channels));
}

Turn turn_for(const ImageInfo& info, const DecodeOptions& options) {
  return options.apply_orientation ? turn_of(info.orientation) : Turn{};
}

/// Writes one stored row where the turned picture has it.
void place_row(View<std::uint8_t> out, const std::uint8_t* row, int y, int width, int height,
               const Turn& turn) {
  const int across = turn.mirror_rows ? height - 1 - y : y;
  for (int x = 0; x < width; ++x) {
    const int along = turn.mirror_columns ? width - 1 - x : x;
    std::copy_n(row + std::ptrdiff_t{x} * out.channels, out.channels,
                turn.transpose ? out.pixel(along, across) : out.pixel(across, along));
  }
}

/// Stores the rows of RGB pictures.
class RowKeeper final : public RowSink {
 public:
  RowKeeper(View<std::uint8_t> out, int width, int height, const Turn& turn, std::uint8_t* packed)
      : out_(out), width_(width), height_(height), turn_(turn), packed_(packed) {}

  bool wants(int) const override { return true; }
  bool needs_rows(int, int) const override { return true; }
  void mark_columns(std::uint8_t* marks, int count) const override {
    std::fill_n(marks, count, std::uint8_t{1});
  }
  void restart() override {}
  int first_column() const override { return 0; }
  int last_column() const override { return width_ - 1; }

  void consume(int y, const std::uint8_t* row) override {
    std::uint8_t* to = turn_.any() ? packed_ : out_.row(y);
    // Four bytes at a time: the last of them is the next pixel's first.
    for (int x = 0; x + 1 < width_; ++x) std::memcpy(to + 3 * x, row + 4 * x, 4);
    std::copy_n(row + 4 * (width_ - 1), 3, to + 3 * (width_ - 1));
    if (turn_.any()) place_row(out_, packed_, y, width_, height_, turn_);
  }

 private:
  View<std::uint8_t> out_;
  int width_;
  int height_;
  Turn turn_;
  std::uint8_t* packed_;
};

/// Our own way is the faster one with its vectors only.
bool by_planes(const ImageInfo& info) {
  return &row_kernels() != &generic_row_kernels() && info.components == 3 &&
         planes_supported(info, 8);
}

void decode_jpeg(std::span<const std::byte> data, const ImageInfo& info,
                 const DecodeOptions& options, Workspace& workspace, View<std::uint8_t> out) {
  JpegSession session(data, info, workspace);
  const Turn turn = turn_for(info, options);
  auto* turned =
      turn.any() ? workspace.take_array<std::uint8_t>(std::size_t{4} * info.width) : nullptr;
  if (out.channels == 3 && by_planes(info) && session.info().jpeg_color_space == JCS_YCbCr) {
    RowKeeper rows(out, info.width, info.height, turn, turned);
    feed_planes(session, options.dct, 8, workspace, rows);
    return;
  }
  JpegRows rows(session, out.channels, options.dct, 8, workspace);
  for (int y = 0; y < info.height; ++y) {
    rows.read(turned != nullptr ? turned : out.row(y));
    if (turned != nullptr) place_row(out, turned, y, info.width, info.height, turn);
  }
  session.finish();
}

void decode_png(std::span<const std::byte> data, const ImageInfo& info,
                const DecodeOptions& options, Workspace& workspace, View<std::uint8_t> out) {
  PngSession session(data, info, out.channels, workspace);
  const Turn turn = turn_for(info, options);
  View<std::uint8_t> stored = out;
  if (turn.any()) {
    // One row is enough, unless later passes come back to it.
    const int rows = info.several_passes ? info.height : 1;
    const auto count = static_cast<std::size_t>(info.width) * static_cast<std::size_t>(rows) *
                       static_cast<std::size_t>(out.channels);
    stored =
        packed(workspace.take_array<std::uint8_t>(count), info.height, info.width, out.channels);
    if (!info.several_passes) stored.stride = 0;
  }
  for (int pass = 0; pass < session.passes(); ++pass) {
    for (int y = 0; y < info.height; ++y) {
      session.read(stored.row(y));
      if (turn.any() && pass == session.passes() - 1) {
        place_row(out, stored.row(y), y, info.width, info.height, turn);
      }
    }
  }
  session.finish();
}

}  // namespace

Bytes jpeg_decode_scratch(const ImageInfo& info) {
  Bytes reading = jpeg_memory_bound(info, true) + JpegRows::cost(info);
  if (info.components == 3 && planes_supported(info, 8)) {
    reading = std::max(reading, jpeg_memory_bound(info, false) + planes_cost(info));
  }
  return Workspace::kOverhead + reading +
         Workspace::cost(Bytes{4} * static_cast<Bytes>(info.width));
}

Bytes png_decode_scratch(const ImageInfo& info) {
  const bool turned_whole = info.several_passes && turn_of(info.orientation).any();
  return Workspace::kOverhead + PngSession::cost(info) +
         (turned_whole ? picture_bytes(info, 4)
                       : Workspace::cost(Bytes{4} * static_cast<Bytes>(info.width)));
}

Extent decoded_extent(const ImageInfo& info, const DecodeOptions& options) {
  if (options.channels < 0 || options.channels > 4) {
    throw InvalidArgument("[decode] channels is " + std::to_string(options.channels) +
                          "; it may be 0 (as stored) to 4");
  }
  const int channels = options.channels == 0 ? info.channels : options.channels;
  return turn_for(info, options).transpose ? Extent{info.width, info.height, channels}
                                           : Extent{info.height, info.width, channels};
}

void decode(std::span<const std::byte> data, const ImageInfo& info, const DecodeOptions& options,
            Scratch& scratch, View<std::uint8_t> out) {
  const Extent extent = decoded_extent(info, options);
  if (extent != Extent{out.height, out.width, out.channels}) {
    throw InvalidArgument("[decode] the image is " + std::to_string(extent.height) + " x " +
                          std::to_string(extent.width) + " x " + std::to_string(extent.channels) +
                          ", the room for it is " + std::to_string(out.height) + " x " +
                          std::to_string(out.width) + " x " + std::to_string(out.channels));
  }
  Workspace workspace(scratch, info.scratch);
  if (info.format == Format::jpeg) {
    decode_jpeg(data, info, options, workspace, out);
  } else {
    decode_png(data, info, options, workspace, out);
  }
}

}  // namespace plimsoll::image

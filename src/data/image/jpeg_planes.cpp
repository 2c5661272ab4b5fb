#include "data/image/jpeg_planes.h"

#include <algorithm>
#include <array>
#include <bit>

#include "data/image/jpeg_rows.h"
#include "data/image/jpeg_scan.h"

namespace plimsoll::image {
namespace {

constexpr int kPlanes = 3;
// In front of a row of samples, where its left neighbour is looked for.
constexpr int kLead = 64;

struct Plane {
  int width = 0;  // samples that belong to the picture
  int height = 0;
  int expand_x = 1;  // pixels per sample
  int expand_y = 1;
  int block = 0;        // samples along a block's edge
  bool repeat = false;  // do not interpolate: libjpeg's way at one sample per block
  int strip_rows = 0;
  std::ptrdiff_t stride = 0;
  JSAMPLE* samples = nullptr;  // of the even strip, then of the odd one
  JSAMPROW* rows = nullptr;    // the same, as libjpeg wants it

  const std::uint8_t* row(int y) const { return samples + y % (2 * strip_rows) * stride; }
};

/// The sampling of chroma against luma after libjpeg has scaled up small blocks by itself.
struct Subsampling {
  int x = 0;
  int y = 0;
};

// The rule of jpeg_calc_output_dimensions().
int scaled_block(const ImageInfo& info, int component, int max_h, int max_v, int eighths) {
  int size = eighths;
  while (size < 8 && (max_h * eighths) % (info.sampling[component].horizontal * size * 2) == 0 &&
         (max_v * eighths) % (info.sampling[component].vertical * size * 2) == 0) {
    size *= 2;
  }
  return size;
}

Subsampling subsampling(const ImageInfo& info, int component, int eighths) {
  const int max_h = info.sampling[0].horizontal;
  const int max_v = info.sampling[0].vertical;
  const int size = scaled_block(info, component, max_h, max_v, eighths);
  const int h = info.sampling[component].horizontal * size;
  const int v = info.sampling[component].vertical * size;
  if (max_h * eighths % h != 0 || max_v * eighths % v != 0) return {};
  return {max_h * eighths / h, max_v * eighths / v};
}

class PlaneRows {
 public:
  PlaneRows(JpegSession& session, Workspace& workspace, RowSink& resizer);
  /// Reads all strips with libjpeg.
  void run();
  /// The same with a scan; false if it gave up.
  bool run(JpegScan& scan, Workspace& workspace);

 private:
  /// Has read(s, y) read strip after strip, where y is the first row that was not converted yet.
  template <class Read>
  bool each_strip(Read read);
  void mark_blocks(const JpegScan& scan, int component, Workspace& workspace);
  bool needs(const Plane& plane, int first, int last) const;
  void convert(int y);
  const std::uint8_t* chroma(const Plane& plane, int y, int slot);

  JpegSession& session_;
  RowSink& resizer_;
  const RowKernels& kernels_;
  std::array<Plane, kPlanes> planes_;
  int count_;  ///< of planes
  std::uint16_t* sums_;
  std::uint8_t* doubled_[2];
  std::uint8_t* pixels_;
  std::uint8_t* columns_;
  std::array<const std::uint8_t*, kPlanes> marks_{};  // of the blocks to decode
  int first_ = 0;                                     // columns to convert: [first_, end_)
  int end_ = 0;
};

PlaneRows::PlaneRows(JpegSession& session, Workspace& workspace, RowSink& resizer)
    : session_(session),
      resizer_(resizer),
      kernels_(row_kernels()),
      count_(session.info().num_components) {
  const jpeg_decompress_struct& cinfo = session.info();
  const std::size_t width = cinfo.output_width;
  for (int i = 0; i < count_; ++i) {
    const jpeg_component_info& component = cinfo.comp_info[i];
    Plane& plane = planes_[i];
    const int size = block_size(component);
    plane.repeat = block_size(cinfo) == 1;
    plane.block = size;
    plane.width = static_cast<int>(component.downsampled_width);
    plane.height = static_cast<int>(component.downsampled_height);
    plane.expand_x = cinfo.max_h_samp_factor * block_size(cinfo) / (component.h_samp_factor * size);
    plane.expand_y = cinfo.max_v_samp_factor * block_size(cinfo) / (component.v_samp_factor * size);
    plane.strip_rows = component.v_samp_factor * size;
    const std::size_t stride =
        align_up(component.width_in_blocks * static_cast<unsigned>(size) + kRowSlack, 64);
    const std::size_t rows = std::size_t{2} * static_cast<unsigned>(plane.strip_rows);
    plane.rows = workspace.take_array<JSAMPROW>(rows);
    plane.stride = static_cast<std::ptrdiff_t>(stride);
    plane.samples = workspace.take_array<JSAMPLE>(kLead + rows * stride) + kLead;
    for (std::size_t r = 0; r < rows; ++r) plane.rows[r] = plane.samples + r * stride;
  }
  sums_ = workspace.take_array<std::uint16_t>(width + kRowSlack);
  for (auto& row : doubled_) row = workspace.take_array<std::uint8_t>(width + 2 * kRowSlack);
  if (count_ == 1) std::fill_n(doubled_[0], width, std::uint8_t{128});  // chroma of what is gray
  pixels_ = workspace.take_array<std::uint8_t>(4 * width + 2 * kRowSlack);
  columns_ = workspace.take_array<std::uint8_t>(width);
  resizer.mark_columns(columns_, static_cast<int>(width));
  first_ = resizer.first_column() & ~1;
  end_ = resizer.last_column() + 1;
}

template <class Read>
bool PlaneRows::each_strip(Read read) {
  const jpeg_decompress_struct& cinfo = session_.info();
  const int height = static_cast<int>(cinfo.output_height);
  const int strip = cinfo.max_v_samp_factor * block_size(cinfo);
  // The last row of a strip interpolates with chroma of the next one.
  const int lag = std::max(planes_[1].expand_y, planes_[2].expand_y) - 1;
  int next = 0;
  for (int s = 0; next < height; ++s) {
    if (!read(s, next)) return false;
    const int done = (s + 1) * strip;
    const int ready = done >= height ? height : done - lag;
    for (; next < ready; ++next) {
      if (resizer_.wants(next)) convert(next);
    }
  }
  return true;
}

void PlaneRows::run() {
  each_strip([&](int s, int) {
    JSAMPARRAY rows[kPlanes];
    for (int i = 0; i < count_; ++i) {
      rows[i] = planes_[i].rows + s % 2 * planes_[i].strip_rows;
    }
    session_.read_planes(rows);
    return true;
  });
}

bool PlaneRows::run(JpegScan& scan, Workspace& workspace) {
  for (int i = 0; i < count_; ++i) mark_blocks(scan, i, workspace);
  std::array<JpegScan::Target, kPlanes> targets;
  const int last = static_cast<int>(session_.info().output_height) - 1;
  bool enough = false;
  const bool read = each_strip([&](int s, int next) {
    enough = !resizer_.needs_rows(next, last);
    if (enough) return false;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i) {
      const Plane& plane = planes_[i];
      JpegScan::Target& target = targets[i];
      target.samples = plane.samples + s % 2 * plane.strip_rows * plane.stride;
      target.stride = plane.stride;
      target.columns = marks_[i];
      for (int r = 0; r < plane.strip_rows / plane.block; ++r) {
        const int first = s * plane.strip_rows + r * plane.block;
        target.rows[static_cast<std::size_t>(r)] = needs(plane, first, first + plane.block - 1);
      }
    }
    return scan.read(targets);
  });
  return enough ? scan.skip_rest() : read && scan.finish();
}

/// Whether the samples of rows first to last have a part in a row that the result needs.
bool PlaneRows::needs(const Plane& plane, int first, int last) const {
  if (first >= plane.height) return false;
  if (plane.expand_y == 1) return resizer_.needs_rows(first, last);
  // Each sample reaches into the pixel rows next to its own two.
  return resizer_.needs_rows(2 * first - 1, 2 * last + 2);
}

void PlaneRows::mark_blocks(const JpegScan& scan, int component, Workspace& workspace) {
  const Plane& plane = planes_[static_cast<std::size_t>(component)];
  const auto count = static_cast<std::size_t>(scan.padded_columns(component));
  auto* marks = workspace.take_array<std::uint8_t>(count);
  std::fill_n(marks, count, std::uint8_t{0});
  const std::uint8_t* wanted = columns_;
  const int reach = plane.expand_x == 1 ? 0 : 1;
  const int width = static_cast<int>(session_.info().output_width);
  // Both are powers of two, and divisions would be felt.
  const int to_sample = std::countr_zero(static_cast<unsigned>(plane.expand_x));
  const int to_block = std::countr_zero(static_cast<unsigned>(plane.block));
  for (int x = 0; x < width; ++x) {
    if (wanted[x] == 0) continue;
    const int near = x >> to_sample;
    marks[near >> to_block] = 1;
    marks[std::max(near - reach, 0) >> to_block] = 1;
    marks[std::min(near + reach, plane.width - 1) >> to_block] = 1;
  }
  marks_[static_cast<std::size_t>(component)] = marks;
}

const std::uint8_t* PlaneRows::chroma(const Plane& plane, int y, int slot) {
  const int near = y / plane.expand_y;
  const bool below = plane.expand_y == 2 && y % 2 == 1;
  const int far =
      plane.expand_y == 1 ? near : std::clamp(below ? near + 1 : near - 1, 0, plane.height - 1);
  if (plane.expand_x == 1 && (plane.expand_y == 1 || plane.repeat)) return plane.row(near);
  if (plane.repeat) {
    const std::uint8_t* row = plane.row(near);
    for (int x = first_; x < end_; ++x) doubled_[slot][x] = row[x / 2];
    return doubled_[slot];
  }

  // 4 times the sample where there is one row only, so that one rule fits both.
  const int first = first_ / plane.expand_x;
  const int end = (end_ + plane.expand_x - 1) / plane.expand_x;
  const std::uint8_t* const a = plane.row(near);
  const std::uint8_t* const b = plane.row(far);
  std::uint8_t* out = doubled_[slot];
  if (plane.expand_x == 1) {
    kernels_.blend_rows(sums_ + first, a + first, b + first, end - first);
    const int bias = below ? 2 : 1;
    for (int x = first; x < end; ++x) out[x] = static_cast<std::uint8_t>((sums_[x] + bias) >> 2);
    return out;
  }
  const bool rows_blended = plane.expand_y == 2;
  const int even_bias = rows_blended ? 8 : 4;
  const int odd_bias = rows_blended ? 7 : 8;
  kernels_.double_columns(out + 2 * first, a + first, b + first, end - first, even_bias, odd_bias,
                          4);
  // The samples at the ends stand for their missing neighbours, too.
  const int last = plane.width - 1;
  const auto at_end = [&](int x, int bias) {
    return static_cast<std::uint8_t>((4 * (3 * a[x] + b[x]) + bias) >> 4);
  };
  if (first == 0) out[0] = at_end(0, even_bias);
  if (end == plane.width) out[2 * last + 1] = at_end(last, odd_bias);
  return out;
}

void PlaneRows::convert(int y) {
  const std::uint8_t* cb = count_ == 1 ? doubled_[0] : chroma(planes_[1], y, 0);
  const std::uint8_t* cr = count_ == 1 ? doubled_[0] : chroma(planes_[2], y, 1);
  kernels_.ycc_to_rgbx(pixels_ + std::ptrdiff_t{4} * first_, planes_[0].row(y) + first_,
                       cb + first_, cr + first_, end_ - first_);
  resizer_.consume(y, pixels_);
}

}  // namespace

bool planes_supported(const ImageInfo& info, int eighths) {
  if (info.format != Format::jpeg || (info.components != kPlanes && info.components != 1)) {
    return false;
  }
  const auto& luma = info.sampling[0];
  if (info.components == 1) return luma.horizontal == 1 && luma.vertical == 1;
  for (int i = 1; i < kPlanes; ++i) {
    const auto& chroma = info.sampling[i];
    if (chroma.horizontal > luma.horizontal || chroma.vertical > luma.vertical) return false;
    const Subsampling sub = subsampling(info, i, eighths);
    const bool whole = sub.x == 1 && sub.y == 1;
    if (sub.x < 1 || sub.x > 2 || sub.y < 1 || sub.y > 2) return false;
    // libjpeg interpolates only where there is something to interpolate between.
    if (!whole && eighths != 1 && info.width * eighths < 8 * 8) return false;
  }
  return scaled_block(info, 0, luma.horizontal, luma.vertical, eighths) == eighths;
}

Bytes planes_cost(const ImageInfo& info) {
  Bytes total = 0;
  const Bytes max_h = info.sampling[0].horizontal;
  for (int i = 0; i < info.components; ++i) {
    const Bytes h = info.sampling[i].horizontal;
    const Bytes v = info.sampling[i].vertical;
    const Bytes blocks_wide = (info.width * h + 8 * max_h - 1) / (8 * max_h);
    const Bytes stride = align_up(blocks_wide * 8 + kRowSlack, 64);
    total +=
        Workspace::cost(2 * 8 * v * sizeof(JSAMPROW)) + Workspace::cost(kLead + 2 * 8 * v * stride);
    total += Workspace::cost(blocks_wide + h);  // marks
  }
  const Bytes width = static_cast<Bytes>(info.width);
  return total + Workspace::cost((width + kRowSlack) * sizeof(std::uint16_t)) +
         2 * Workspace::cost(width + 2 * kRowSlack) + Workspace::cost(4 * width + 2 * kRowSlack) +
         Workspace::cost(width) + JpegScan::cost();
}

void feed_planes(JpegSession& session, Dct dct, int eighths, Workspace& workspace,
                 RowSink& resizer) {
  jpeg_decompress_struct& cinfo = session.info();
  cinfo.raw_data_out = TRUE;
  cinfo.dct_method = dct_method(dct);
  cinfo.scale_num = static_cast<unsigned>(eighths);
  cinfo.scale_denom = 8;
  session.calculate_dimensions();
  PlaneRows rows(session, workspace, resizer);
  JpegScan scan(session, dct, workspace);
  if (scan.ready()) {
    if (rows.run(scan, workspace)) return;
    resizer.restart();
  }
  session.start();
  rows.run();
  session.finish();
}

}  // namespace plimsoll::image

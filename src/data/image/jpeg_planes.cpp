#include "data/image/jpeg_planes.h"

#include <algorithm>
#include <array>

namespace plimsoll::image {
namespace {

constexpr int kPlanes = 3;
// In front of a row of sums, for its left neighbour.
constexpr int kLead = 32;

struct Plane {
  int width = 0;  // samples that belong to the picture
  int height = 0;
  int expand_x = 1;  // pixels per sample
  int expand_y = 1;
  int strip_rows = 0;
  JSAMPROW* rows = nullptr;  // of the even strip, then of the odd one

  const std::uint8_t* row(int y) const {
    return rows[(y / strip_rows % 2) * strip_rows + y % strip_rows];
  }
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
  PlaneRows(JpegSession& session, Workspace& workspace, RowResizer& resizer);
  void run();

 private:
  void convert(int y);
  const std::uint8_t* chroma(const Plane& plane, int y, int slot);

  JpegSession& session_;
  RowResizer& resizer_;
  const RowKernels& kernels_;
  std::array<Plane, kPlanes> planes_;
  std::uint16_t* sums_;
  std::uint8_t* doubled_[2];
  std::uint8_t* pixels_;
  int first_ = 0;  // columns to convert: [first_, end_)
  int end_ = 0;
};

PlaneRows::PlaneRows(JpegSession& session, Workspace& workspace, RowResizer& resizer)
    : session_(session), resizer_(resizer), kernels_(row_kernels()) {
  const jpeg_decompress_struct& cinfo = session.info();
  const std::size_t width = cinfo.output_width;
  for (int i = 0; i < kPlanes; ++i) {
    const jpeg_component_info& component = cinfo.comp_info[i];
    Plane& plane = planes_[i];
    const int size = block_size(component);
    plane.width = static_cast<int>(component.downsampled_width);
    plane.height = static_cast<int>(component.downsampled_height);
    plane.expand_x = cinfo.max_h_samp_factor * block_size(cinfo) / (component.h_samp_factor * size);
    plane.expand_y = cinfo.max_v_samp_factor * block_size(cinfo) / (component.v_samp_factor * size);
    plane.strip_rows = component.v_samp_factor * size;
    const std::size_t stride =
        align_up(component.width_in_blocks * static_cast<unsigned>(size) + kRowSlack, 64);
    const std::size_t rows = std::size_t{2} * static_cast<unsigned>(plane.strip_rows);
    plane.rows = workspace.take_array<JSAMPROW>(rows);
    auto* samples = workspace.take_array<JSAMPLE>(rows * stride);
    for (std::size_t r = 0; r < rows; ++r) plane.rows[r] = samples + r * stride;
  }
  sums_ = workspace.take_array<std::uint16_t>(width + kLead + kRowSlack) + kLead;
  for (auto& row : doubled_) row = workspace.take_array<std::uint8_t>(width + 2 * kRowSlack);
  pixels_ = workspace.take_array<std::uint8_t>(4 * width + 2 * kRowSlack);
  first_ = resizer.first_column() & ~1;
  end_ = resizer.last_column() + 1;
}

void PlaneRows::run() {
  const jpeg_decompress_struct& cinfo = session_.info();
  const int height = static_cast<int>(cinfo.output_height);
  const int strip = cinfo.max_v_samp_factor * block_size(cinfo);
  // The last row of a strip interpolates with chroma of the next one.
  const int lag = std::max(planes_[1].expand_y, planes_[2].expand_y) - 1;
  int next = 0;
  for (int s = 0; next < height; ++s) {
    JSAMPARRAY rows[kPlanes];
    for (int i = 0; i < kPlanes; ++i) {
      rows[i] = planes_[i].rows + s % 2 * planes_[i].strip_rows;
    }
    session_.read_planes(rows);
    const int read = (s + 1) * strip;
    const int ready = read >= height ? height : read - lag;
    for (; next < ready; ++next) {
      if (resizer_.wants(next)) convert(next);
    }
  }
}

const std::uint8_t* PlaneRows::chroma(const Plane& plane, int y, int slot) {
  const int near = y / plane.expand_y;
  const bool below = plane.expand_y == 2 && y % 2 == 1;
  const int far =
      plane.expand_y == 1 ? near : std::clamp(below ? near + 1 : near - 1, 0, plane.height - 1);
  if (plane.expand_x == 1 && plane.expand_y == 1) return plane.row(near);

  // 4 times the sample where there is one row only, so that one rule fits both.
  const int first = first_ / plane.expand_x;
  const int end = (end_ + plane.expand_x - 1) / plane.expand_x;
  const int sum_first = std::max(first - 1, 0);
  const int sum_end = std::min(end + 1, plane.width);
  kernels_.blend_rows(sums_ + sum_first, plane.row(near) + sum_first, plane.row(far) + sum_first,
                      sum_end - sum_first);
  std::uint8_t* out = doubled_[slot];
  if (plane.expand_x == 1) {
    const int bias = below ? 2 : 1;
    for (int x = first; x < end; ++x) out[x] = static_cast<std::uint8_t>((sums_[x] + bias) >> 2);
    return out;
  }
  if (sum_first == 0) sums_[-1] = sums_[0];
  if (sum_end == plane.width) sums_[plane.width] = sums_[plane.width - 1];
  const bool rows_blended = plane.expand_y == 2;
  kernels_.double_columns(out + 2 * first, sums_ + first, end - first, rows_blended ? 8 : 4,
                          rows_blended ? 7 : 8, 4);
  return out;
}

void PlaneRows::convert(int y) {
  const std::uint8_t* cb = chroma(planes_[1], y, 0);
  const std::uint8_t* cr = chroma(planes_[2], y, 1);
  kernels_.ycc_to_rgbx(pixels_ + std::ptrdiff_t{4} * first_, planes_[0].row(y) + first_,
                       cb + first_, cr + first_, end_ - first_);
  resizer_.consume(y, pixels_);
}

}  // namespace

bool planes_supported(const ImageInfo& info, int eighths) {
  if (info.format != Format::jpeg || info.components != kPlanes) return false;
  const auto& luma = info.sampling[0];
  for (int i = 1; i < kPlanes; ++i) {
    const auto& chroma = info.sampling[i];
    if (chroma.horizontal > luma.horizontal || chroma.vertical > luma.vertical) return false;
    const Subsampling sub = subsampling(info, i, eighths);
    const bool whole = sub.x == 1 && sub.y == 1;
    if (sub.x < 1 || sub.x > 2 || sub.y < 1 || sub.y > 2) return false;
    // libjpeg interpolates only where there is something to interpolate between.
    if (!whole && (eighths == 1 || info.width * eighths < 8 * 8)) return false;
  }
  return scaled_block(info, 0, luma.horizontal, luma.vertical, eighths) == eighths;
}

Bytes planes_cost(const ImageInfo& info) {
  Bytes total = 0;
  const Bytes max_h = info.sampling[0].horizontal;
  for (int i = 0; i < kPlanes; ++i) {
    const Bytes h = info.sampling[i].horizontal;
    const Bytes v = info.sampling[i].vertical;
    const Bytes blocks_wide = (info.width * h + 8 * max_h - 1) / (8 * max_h);
    const Bytes stride = align_up(blocks_wide * 8 + kRowSlack, 64);
    total += Workspace::cost(2 * 8 * v * sizeof(JSAMPROW)) + Workspace::cost(2 * 8 * v * stride);
  }
  const Bytes width = static_cast<Bytes>(info.width);
  return total + Workspace::cost((width + kLead + kRowSlack) * sizeof(std::uint16_t)) +
         2 * Workspace::cost(width + 2 * kRowSlack) + Workspace::cost(4 * width + 2 * kRowSlack);
}

void feed_planes(JpegSession& session, Workspace& workspace, RowResizer& resizer) {
  PlaneRows(session, workspace, resizer).run();
}

}  // namespace plimsoll::image

#include "data/image/row_resizer.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::image {
namespace {

std::size_t tap_count(int columns) {
  return align_up(static_cast<Bytes>(columns), Bytes{kColumnGroup});
}

Bytes row_bytes(int columns) { return Bytes{4} * columns * sizeof(float) + kRowSlack; }

}  // namespace

AxisMap::Tap AxisMap::tap(int i) const {
  if (eighths == 8) {
    // TensorFlow's arithmetic, in float.
    const float scale = static_cast<float>(size) / static_cast<float>(out);
    const float at = (static_cast<float>(i) + 0.5F) * scale - 0.5F;
    const float below = std::floor(at);
    const int low = std::max(static_cast<int>(below), 0);
    const int high = std::min(static_cast<int>(std::ceil(at)), size - 1);
    return {begin + std::min(low, size - 1), high > low ? at - below : 0.0F};
  }
  const double ratio = eighths / 8.0;
  const double at = ((i + 0.5) * size / out + begin) * ratio - 0.5;
  const int first = static_cast<int>(std::floor(begin * ratio));
  const int last = static_cast<int>(std::ceil((begin + size) * ratio)) - 1;
  const double inside = std::clamp(at, double(first), double(last));
  const int low = static_cast<int>(std::floor(inside));
  return {low, low < last ? static_cast<float>(inside - low) : 0.0F};
}

Bytes RowResizer::cost(int out_columns) {
  const Bytes taps = tap_count(out_columns);
  return Workspace::cost(taps * sizeof(std::int32_t)) +
         Workspace::cost(taps * 8 * sizeof(std::int16_t)) +
         Workspace::cost(taps / kColumnGroup * sizeof(std::int32_t)) +
         Workspace::cost(taps / kColumnGroup * kGroupPicks) +
         3 * Workspace::cost(row_bytes(out_columns));
}

RowResizer::RowResizer(const AxisMap& rows, const AxisMap& columns, const Placement& placement,
                       Workspace& workspace, ColumnWeights weights)
    : rows_(rows), columns_(columns), placement_(placement), kernels_(row_kernels()) {
  const int n = columns_.out;
  if (weights == ColumnWeights::exact) {
    make_shares(workspace);
  } else {
    make_taps(workspace);
    for (float& scale : placement_.scale) scale /= kWeightOne;
  }
  for (float** row : {&resized_[0], &resized_[1], &blended_}) {
    *row = workspace.take_array<float>(row_bytes(n) / sizeof(float));
  }
  first_column_ = columns_.tap(0).low;
  last_column_ = columns_.tap(n - 1).high();
  restart();
}

void RowResizer::restart() {
  next_ = 0;
  tap_ = rows_.tap(0);
}

bool RowResizer::needs_rows(int first, int last) const {
  for (int i = next_; i < rows_.out; ++i) {
    const AxisMap::Tap tap = rows_.tap(i);
    if (tap.low > last) return false;
    if (tap.high() >= first) return true;
  }
  return false;
}

void RowResizer::mark_columns(std::uint8_t* marks, int count) const {
  std::fill_n(marks, count, std::uint8_t{0});
  for (int i = 0; i < columns_.out; ++i) {
    const std::int32_t low = taps_.offsets[i] / 4;
    marks[low] = 1;
    // What has no weight need not be known.
    const bool both = taps_.shares != nullptr ? taps_.shares[i] > 0 : taps_.weights[8 * i + 1] > 0;
    if (both) marks[low + 1] = 1;
  }
}

void RowResizer::make_taps(Workspace& workspace) {
  const int n = columns_.out;
  const std::size_t count = tap_count(n);
  auto* offsets = workspace.take_array<std::int32_t>(count);
  auto* weights = workspace.take_array<std::int16_t>(8 * count);
  for (int x = 0; x < static_cast<int>(count); ++x) {
    const int column = std::min(x, n - 1);
    const AxisMap::Tap tap = columns_.tap(placement_.mirror_columns ? n - 1 - column : column);
    const auto right = static_cast<std::int16_t>(std::lrint(tap.t * kWeightOne));
    offsets[x] = 4 * tap.low;
    for (int c = 0; c < 4; ++c) {
      weights[8 * x + 2 * c] = static_cast<std::int16_t>(kWeightOne - right);
      weights[8 * x + 2 * c + 1] = right;
    }
  }
  taps_ = {offsets, weights, nullptr};
  if (kernels_.picks_columns) make_picks(count / kColumnGroup, workspace);
}

void RowResizer::make_picks(std::size_t groups, Workspace& workspace) {
  auto* starts = workspace.take_array<std::int32_t>(groups);
  auto* picks = workspace.take_array<std::uint8_t>(groups * kGroupPicks);
  for (std::size_t g = 0; g < groups; ++g) {
    const std::int32_t* const offsets = taps_.offsets + g * kColumnGroup;
    const auto [first, last] = std::minmax_element(offsets, offsets + kColumnGroup);
    // Two pixels of four bytes each.
    if (*last + 8 - *first > kGroupPicks) return;
    starts[g] = *first;
    std::uint8_t* const pick = picks + g * kGroupPicks;
    for (int word = 0; word < kGroupPicks / 2; ++word) {
      const int channel = word / 2 % 4;
      const int right = word % 2;
      pick[2 * word] = pick[2 * word + 1] =
          static_cast<std::uint8_t>(offsets[word / 8] - *first + 4 * right + channel);
    }
  }
  taps_.starts = starts;
  taps_.picks = picks;
}

void RowResizer::make_shares(Workspace& workspace) {
  const int n = columns_.out;
  const std::size_t count = tap_count(n);
  auto* offsets = workspace.take_array<std::int32_t>(count);
  auto* shares = workspace.take_array<float>(count);
  for (int x = 0; x < static_cast<int>(count); ++x) {
    const int column = std::min(x, n - 1);
    const AxisMap::Tap tap = columns_.tap(placement_.mirror_columns ? n - 1 - column : column);
    offsets[x] = 4 * tap.low;
    shares[x] = tap.t;
  }
  taps_ = {offsets, nullptr, shares};
}

void RowResizer::consume(int y, const std::uint8_t* row) {
  const auto columns =
      taps_.shares != nullptr ? kernels_.interpolate_columns : kernels_.resize_columns;
  columns(resized_[y & 1], row, taps_, columns_.out);
  while (next_ < rows_.out && tap_.high() <= y) {
    emit();
    if (++next_ < rows_.out) tap_ = rows_.tap(next_);
  }
}

void RowResizer::emit() {
  place_row(placement_, kernels_, next_, columns_.out, resized_[tap_.low & 1],
            resized_[tap_.high() & 1], tap_.t, blended_);
}

namespace {

void write_row(const Placement& p, const RowKernels& kernels, float* out, int columns,
               const float* a, const float* b, float t, float* blended) {
  if (p.channels == 3 && p.channel_step == 1 && p.column_step == 3) {
    kernels.blend_pixels_rgb(out, a, b, t, p.scale, p.bias, columns);
    return;
  }
  kernels.blend_pixels(blended, a, b, t, p.scale, p.bias, columns);
  if (p.channels == 3 && p.column_step == 1) {
    kernels.split_rgb(out, out + p.channel_step, out + 2 * p.channel_step, blended, columns);
    return;
  }
  if (p.channels == 4 && p.channel_step == 1 && p.column_step == 4) {
    std::copy_n(blended, 4 * columns, out);
    return;
  }
  for (int x = 0; x < columns; ++x) {
    for (int c = 0; c < p.channels; ++c) {
      out[x * p.column_step + c * p.channel_step] = blended[4 * x + c];
    }
  }
}

}  // namespace

void place_row(const Placement& p, const RowKernels& kernels, int row, int columns, const float* a,
               const float* b, float t, float* blended) {
  write_row(p, kernels, p.row(row), columns, a, b, t, blended);
  p.made(row);
}

}  // namespace plimsoll::image

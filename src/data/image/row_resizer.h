#pragma once

#include <cstddef>
#include <cstdint>

#include <plimsoll/data/image/load.h>

#include "data/image/kernels.h"
#include "data/image/workspace.h"

namespace plimsoll::image {

/// One axis of a bilinear resize with half-pixel centres, as in tf.image.resize: `out` samples
/// across the samples [begin, begin + size) of a source. The source may have been decoded at
/// eighths/8 of the size that begin and size are stated in.
struct AxisMap {
  int begin = 0;
  int size = 0;
  int out = 0;
  int eighths = 8;

  /// Sample i lies between the source samples `low` and, where t > 0, low + 1.
  struct Tap {
    int low;
    float t;
    int high() const { return low + (t > 0 ? 1 : 0); }
  };
  Tap tap(int i) const;
};

/// Where resized pixels go: origin + row * row_step + column * column_step + c * channel_step,
/// in floats. Result = value * scale + bias, per channel.
struct Placement {
  float* origin = nullptr;
  std::ptrdiff_t row_step = 0;
  std::ptrdiff_t column_step = 0;
  std::ptrdiff_t channel_step = 0;
  int channels = 3;
  /// Columns of the source run right to left.
  bool mirror_columns = false;
  float scale[4] = {1, 1, 1, 1};
  float bias[4] = {0, 0, 0, 0};
  /// Not null: there is room for its count of rows only, and it takes them when that is full.
  const RowStrip* strip = nullptr;
  int rows = 0;  ///< of the result, for a strip

  float* row(int y) const { return origin + (strip == nullptr ? y : y % strip->count) * row_step; }
  /// Row y is there; rows come in order.
  void made(int y) const {
    if (strip == nullptr) return;
    const int at = y % strip->count;
    if (at + 1 == strip->count || y + 1 == rows) strip->take(y - at, at + 1);
  }
};

/// Writes a resized row where `placement` says: (a + (b - a) * t) * scale + bias, of rows with four
/// floats per pixel. `blended` is room for one such row.
void place_row(const Placement& placement, const RowKernels& kernels, int row, int columns,
               const float* a, const float* b, float t, float* blended);

/// Takes the rows of a picture from top to bottom and makes a resized one of them.
class RowSink {
 public:
  virtual ~RowSink() = default;
  /// Whether row y, which lies below all rows consumed so far, has a part in the result.
  virtual bool wants(int y) const = 0;
  /// Whether any of the rows first to last has a part in what is still to come of the result.
  virtual bool needs_rows(int first, int last) const = 0;
  /// Marks with 1 the columns that have a part in the result, of `count` at `marks`.
  virtual void mark_columns(std::uint8_t* marks, int count) const = 0;
  /// Forgets all rows, to begin again at the first.
  virtual void restart() = 0;
  /// Takes row y: four bytes per pixel, from the source's column 0, readable for kRowSlack bytes
  /// past the last pixel. Every wanted row must come, in order.
  virtual void consume(int y, const std::uint8_t* row) = 0;
  /// The columns of the source that have a part in the result: [first, last].
  virtual int first_column() const = 0;
  virtual int last_column() const = 0;
};

/// How columns are interpolated: with weights of 14 bits, or in f32.
enum class ColumnWeights : std::uint8_t { fixed, exact };

/// A bilinear RowSink that holds two resized rows.
class RowResizer final : public RowSink {
 public:
  static Bytes cost(int out_columns);

  RowResizer(const AxisMap& rows, const AxisMap& columns, const Placement& placement,
             Workspace& workspace, ColumnWeights weights = ColumnWeights::fixed);

  bool wants(int y) const override { return next_ < rows_.out && tap_.low <= y; }
  bool needs_rows(int first, int last) const override;
  void mark_columns(std::uint8_t* marks, int count) const override;
  void restart() override;
  void consume(int y, const std::uint8_t* row) override;
  int first_column() const override { return first_column_; }
  int last_column() const override { return last_column_; }

 private:
  void make_taps(Workspace& workspace);
  void make_picks(std::size_t groups, Workspace& workspace);
  void make_shares(Workspace& workspace);
  void emit();

  AxisMap rows_;
  AxisMap columns_;
  Placement placement_;
  const RowKernels& kernels_;
  ColumnTaps taps_{};
  float* resized_[2];  // of even and odd rows
  float* blended_;
  int next_ = 0;
  AxisMap::Tap tap_;
  int first_column_ = 0;
  int last_column_ = 0;
};

}  // namespace plimsoll::image

#pragma once

#include "data/image/resize_weights.h"
#include "data/image/row_resizer.h"

namespace plimsoll::image {

/// Whether a resize is one of weighted sums: bicubic, or bilinear with antialias.
bool is_weighted(const ResizeOptions& options);

/// The part [begin, begin + size) of a source's rows or columns, and how many come of it.
struct Span {
  int begin = 0;
  int size = 0;
  int out = 0;
};

/// A RowSink of weighted sums, for resizes with antialias and bicubic ones. Holds as many resized
/// rows as a row of the result is made of.
class WeightedResizer final : public RowSink {
 public:
  static Bytes cost(const Span& rows, const Span& columns, const ResizeOptions& options);

  WeightedResizer(const Span& rows, const Span& columns, const ResizeOptions& options,
                  const Placement& placement, Workspace& workspace);

  bool wants(int y) const override {
    return next_ < rows_.out && y >= rows_.begin + row_weights_.first[next_];
  }
  bool needs_rows(int first, int last) const override;
  void mark_columns(std::uint8_t* marks, int count) const override;
  void restart() override { next_ = 0; }
  void consume(int y, const std::uint8_t* row) override;
  int first_column() const override { return columns_.begin; }
  int last_column() const override { return columns_.begin + columns_.size - 1; }

 private:
  float* slot(int row) const { return resized_ + row % row_weights_.span * slot_size_; }
  /// The last row that row i of the result is made of, counted from rows_.begin.
  int last_row(int i) const;
  void emit();

  Span rows_;
  Span columns_;
  Placement placement_;
  const RowKernels& kernels_;
  AxisWeights row_weights_;
  int pairs_ = 0;             ///< of columns that each column of the result is made of
  int* offsets_ = nullptr;    ///< in floats
  float* weights_ = nullptr;  ///< eight per pair: four times each
  float* source_ = nullptr;   ///< a row, as floats
  float* resized_ = nullptr;  ///< rows, one after the other, the first again after the last
  float* summed_ = nullptr;
  float* blended_ = nullptr;
  std::ptrdiff_t slot_size_ = 0;
  int next_ = 0;
};

}  // namespace plimsoll::image

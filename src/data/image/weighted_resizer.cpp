#include "data/image/weighted_resizer.h"

#include <algorithm>
#include <cstring>

#include <plimsoll/data/image/clones.h>

namespace plimsoll::image {
namespace {

// Two pixels of four floats. Vectors are loaded and stored by memcpy: nothing is aligned.
using Pair = float __attribute__((vector_size(32)));
constexpr int kPair = 8;

PLIMSOLL_PICTURE_CLONES void to_floats(float* to, const std::uint8_t* from, int count) {
#pragma omp simd
  for (int i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

/// out[4x + c] = the sum of all pairs' pixels by their weights: first of the pairs, then of the
/// two.
PLIMSOLL_PICTURE_CLONES void sum_columns(float* out, const float* row, const int* offsets,
                                         const float* weights, int pairs, int n) {
  for (int x = 0; x < n; ++x) {
    const float* at = row + offsets[x];
    Pair sum = {};
    for (int k = 0; k < pairs; ++k, at += kPair, weights += kPair) {
      Pair pixels;
      Pair factors;
      std::memcpy(&pixels, at, sizeof(Pair));
      std::memcpy(&factors, weights, sizeof(Pair));
      sum += pixels * factors;
    }
    for (int c = 0; c < 4; ++c) out[4 * x + c] = sum[c] + sum[c + 4];
  }
}

/// sum += row * weight; `count` is rounded up to whole pairs.
PLIMSOLL_PICTURE_CLONES void add_row(float* sum, const float* row, float weight, int count,
                                     bool first) {
  for (int i = 0; i < count; i += kPair) {
    Pair values;
    Pair before = {};
    std::memcpy(&values, row + i, sizeof(Pair));
    if (!first) std::memcpy(&before, sum + i, sizeof(Pair));
    before += values * weight;
    std::memcpy(sum + i, &before, sizeof(Pair));
  }
}

int pairs_of(int span) { return (span + 1) / 2; }

std::size_t row_floats(int columns) {
  return 4 * static_cast<std::size_t>(columns) + kRowSlack / sizeof(float);
}

/// A row of the source, what the conversion writes beyond it, and what the last pair may read.
std::size_t source_floats(int columns, int pairs) {
  return 4 * static_cast<std::size_t>(columns) + kRowSlack +
         kPair * static_cast<std::size_t>(pairs);
}

struct Sizes {
  std::size_t weights;
  std::size_t source;
  std::size_t row;
};
Sizes sizes_of(const Span& columns, int span) {
  const int pairs = pairs_of(span);
  return {static_cast<std::size_t>(columns.out) * static_cast<std::size_t>(pairs) * kPair,
          source_floats(columns.size, pairs), row_floats(columns.out)};
}

}  // namespace

bool is_weighted(const ResizeOptions& options) {
  return options.filter == Filter::bicubic ||
         (options.filter == Filter::bilinear && options.antialias);
}

Bytes WeightedResizer::cost(const Span& rows, const Span& columns, const ResizeOptions& options) {
  const Sizes sizes = sizes_of(columns, axis_span(columns.out, columns.size, options));
  const auto span = static_cast<Bytes>(axis_span(rows.out, rows.size, options));
  return axis_weights_cost(rows.out, rows.size, options) +
         axis_weights_cost(columns.out, columns.size, options) +
         Workspace::cost(static_cast<Bytes>(columns.out) * sizeof(int)) +
         Workspace::cost(sizes.weights * sizeof(float)) +
         Workspace::cost(sizes.source * sizeof(float)) +
         Workspace::cost(span * sizes.row * sizeof(float)) +
         2 * Workspace::cost(sizes.row * sizeof(float));
}

WeightedResizer::WeightedResizer(const Span& rows, const Span& columns,
                                 const ResizeOptions& options, const Placement& placement,
                                 Workspace& workspace)
    : rows_(rows),
      columns_(columns),
      placement_(placement),
      kernels_(row_kernels()),
      row_weights_(axis_weights(rows.out, rows.size, options, workspace)) {
  const AxisWeights by_column = axis_weights(columns.out, columns.size, options, workspace);
  pairs_ = pairs_of(by_column.span);
  const Sizes sizes = sizes_of(columns, by_column.span);
  offsets_ = workspace.take_array<int>(static_cast<std::size_t>(columns.out));
  weights_ = workspace.take_array<float>(sizes.weights);
  source_ = workspace.take_array<float>(sizes.source);
  resized_ = workspace.take_array<float>(static_cast<std::size_t>(row_weights_.span) * sizes.row);
  summed_ = workspace.take_array<float>(sizes.row);
  blended_ = workspace.take_array<float>(sizes.row);
  slot_size_ = static_cast<std::ptrdiff_t>(sizes.row);
  std::fill_n(source_, sizes.source, 0.0F);
  std::fill_n(resized_, static_cast<std::size_t>(row_weights_.span) * sizes.row, 0.0F);
  float* weights = weights_;
  for (int x = 0; x < columns.out; ++x) {
    const int from = placement.mirror_columns ? columns.out - 1 - x : x;
    offsets_[x] = 4 * by_column.first[from];
    for (int k = 0; k < 2 * pairs_; ++k, weights += 4) {
      const bool there = k < by_column.span && by_column.first[from] + k < columns.size;
      std::fill_n(weights, 4, there ? by_column.of(from)[k] : 0.0F);
    }
  }
}

int WeightedResizer::last_row(int i) const {
  const int first = row_weights_.first[i];
  int last = std::min(first + row_weights_.span, rows_.size) - 1;
  while (last > first && row_weights_.of(i)[last - first] == 0.0F) --last;
  return last;
}

bool WeightedResizer::needs_rows(int first, int last) const {
  if (next_ >= rows_.out) return false;
  return last >= rows_.begin + row_weights_.first[next_] &&
         first <= rows_.begin + last_row(rows_.out - 1);
}

void WeightedResizer::mark_columns(std::uint8_t* marks, int count) const {
  std::fill_n(marks, count, std::uint8_t{0});
  std::fill_n(marks + columns_.begin, columns_.size, std::uint8_t{1});
}

void WeightedResizer::consume(int y, const std::uint8_t* row) {
  const int at = y - rows_.begin;
  to_floats(source_, row + std::ptrdiff_t{4} * columns_.begin, 4 * columns_.size);
  sum_columns(slot(at), source_, offsets_, weights_, pairs_, columns_.out);
  while (next_ < rows_.out && last_row(next_) <= at) {
    emit();
    ++next_;
  }
}

void WeightedResizer::emit() {
  const int first = row_weights_.first[next_];
  const int end = last_row(next_) + 1;
  for (int r = first; r < end; ++r) {
    add_row(summed_, slot(r), row_weights_.of(next_)[r - first], 4 * columns_.out, r == first);
  }
  place_row(placement_, kernels_, next_, columns_.out, summed_, summed_, 0.0F, blended_);
}

}  // namespace plimsoll::image

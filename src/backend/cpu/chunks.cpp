#include "backend/cpu/chunks.h"

#include <algorithm>
#include <cstring>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/dtype_switch.h"

namespace plimsoll::cpu {
namespace {

bool is_16_bit_float(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

/// How an input's elements lie along the output's, adjacent dimensions joined where they can be.
struct Layout {
  int rank = 0;
  std::array<std::int64_t, kMaxRank> extents{};
  std::array<std::int64_t, kMaxRank> strides{};  ///< in elements; 0 where it is repeated

  Layout(const Shape& in, const Shape& out) {
    const auto dense = in.contiguous_strides();
    const int extra = out.rank() - in.rank();
    for (int i = 0; i < out.rank(); ++i) {
      if (out[i] == 1) continue;
      const bool repeated = i < extra || in[i - extra] == 1;
      add(out[i], repeated ? 0 : dense[static_cast<std::size_t>(i - extra)]);
    }
    if (rank == 0) add(1, 1);
  }

  bool dense() const { return rank == 1 && strides[0] == 1; }
  bool constant() const { return rank == 1 && strides[0] == 0; }
  std::int64_t inner() const { return extents[static_cast<std::size_t>(rank - 1)]; }
  bool inner_repeated() const { return strides[static_cast<std::size_t>(rank - 1)] == 0; }
  bool rows_repeated() const { return rank == 2 && strides[0] == 0; }

 private:
  void add(std::int64_t extent, std::int64_t stride) {
    if (rank > 0) {
      const auto last = static_cast<std::size_t>(rank - 1);
      if (strides[last] == stride * extent) {
        extents[last] *= extent;
        strides[last] = stride;
        return;
      }
    }
    extents[static_cast<std::size_t>(rank)] = extent;
    strides[static_cast<std::size_t>(rank)] = stride;
    ++rank;
  }
};

/// Where the elements from `start` on are, run by run of the innermost dimension.
class Runs {
 public:
  Runs(const Layout& layout, std::int64_t start) : layout_(layout) {
    for (int i = layout.rank - 1; i >= 0; --i) {
      const auto at = static_cast<std::size_t>(i);
      index_[at] = start % layout.extents[at];
      start /= layout.extents[at];
      offset_ += index_[at] * layout.strides[at];
    }
  }
  std::int64_t offset() const { return offset_; }
  std::int64_t left() const { return layout_.inner() - index_[last()]; }
  void next_run() {
    offset_ -= index_[last()] * layout_.strides[last()];
    index_[last()] = 0;
    for (int i = layout_.rank - 2; i >= 0; --i) {
      const auto at = static_cast<std::size_t>(i);
      offset_ += layout_.strides[at];
      if (++index_[at] < layout_.extents[at]) return;
      offset_ -= index_[at] * layout_.strides[at];
      index_[at] = 0;
    }
  }

 private:
  std::size_t last() const { return static_cast<std::size_t>(layout_.rank - 1); }
  const Layout& layout_;
  std::array<std::int64_t, kMaxRank> index_{};
  std::int64_t offset_ = 0;
};

/// Elements [start, start + count) of a broadcast input, as a dense row: in place, or in `row`.
template <typename T>
const T* gather(const T* data, const Layout& layout, std::int64_t start, std::int64_t count,
                T* row) {
  Runs runs(layout, start);
  if (!layout.inner_repeated() && runs.left() >= count) return data + runs.offset();
  if (layout.rows_repeated()) {
    const std::int64_t period = layout.inner();
    const std::int64_t at = start % period;
    std::int64_t done = std::min(period - at, count);
    std::copy_n(data + at, done, row);
    const std::int64_t wrapped = std::min(at, count - done);
    std::copy_n(data, wrapped, row + done);
    done += wrapped;
    // A whole period is there: what follows repeats it, twice as much at a time.
    for (std::int64_t known = done; done < count; known = done) {
      const std::int64_t more = std::min(known, count - done);
      std::copy_n(row, more, row + done);
      done += more;
    }
    return row;
  }
  for (std::int64_t done = 0; done < count; runs.next_run()) {
    const std::int64_t length = std::min(runs.left(), count - done);
    if (layout.inner_repeated()) {
      std::fill_n(row + done, length, data[runs.offset()]);
    } else {
      std::copy_n(data + runs.offset(), length, row + done);
    }
    done += length;
  }
  return row;
}

constexpr std::size_t kRowBytes = static_cast<std::size_t>(kChunk) * 8;

/// Storage of one row, for any dtype.
struct alignas(64) Row {
  std::array<std::byte, kRowBytes> bytes;
};

/// An input as rows.
class Input {
 public:
  Input(const TensorView& view, const Shape& out, bool widen)
      : view_(view),
        layout_(view.shape(), out),
        size_(dtype_size(view.dtype())),
        widen_(widen && is_16_bit_float(view.dtype())) {}

  std::size_t row_size() const { return widen_ ? 4 : size_; }

  /// Before the first row of a thread.
  void begin(Row& row, Row& wide) const {
    if (layout_.constant()) fetch(0, kChunk, row, wide);
  }
  const void* at(std::int64_t start, std::int64_t count, Row& row, Row& wide) const {
    if (layout_.constant()) return widen_ ? wide.bytes.data() : row.bytes.data();
    return fetch(start, count, row, wide);
  }

 private:
  const void* fetch(std::int64_t start, std::int64_t count, Row& row, Row& wide) const {
    const void* narrow = raw(start, count, row);
    if (!widen_) return narrow;
    auto* to = reinterpret_cast<float*>(wide.bytes.data());
    widen_row(view_.dtype(), narrow, to, count);
    return to;
  }
  template <typename T>
  const void* gathered(std::int64_t start, std::int64_t count, Row& row) const {
    auto* to = reinterpret_cast<T*>(row.bytes.data());
    if (layout_.constant()) {
      std::fill_n(to, count, *view_.as<const T>());
      return to;
    }
    return gather(view_.as<const T>(), layout_, start, count, to);
  }
  const void* raw(std::int64_t start, std::int64_t count, Row& row) const {
    if (layout_.dense()) {
      return view_.as<const std::byte>() + static_cast<std::size_t>(start) * size_;
    }
    switch (size_) {
      case 1:
        return gathered<std::uint8_t>(start, count, row);
      case 2:
        return gathered<std::uint16_t>(start, count, row);
      case 4:
        return gathered<std::uint32_t>(start, count, row);
      default:
        return gathered<std::uint64_t>(start, count, row);
    }
  }

  const TensorView& view_;
  Layout layout_;
  std::size_t size_;
  bool widen_;
};

/// Runs a loop that takes whole blocks over any count: the rest goes through a padded block.
void run_blocks(const ChunkLoop& loop, std::byte* out, std::size_t out_size,
                std::array<const void*, kMaxRows> in,
                const std::array<std::size_t, kMaxRows>& in_size, std::size_t inputs,
                std::int64_t count, const Numbers& numbers) {
  const std::int64_t whole = count / kBlock * kBlock;
  if (whole > 0) loop.run(out, in.data(), whole, numbers);
  const auto rest = static_cast<std::size_t>(count - whole);
  if (rest == 0) return;
  alignas(64) std::array<std::array<std::byte, kBlock * 8>, kMaxRows + 1> pads{};
  for (std::size_t i = 0; i < inputs; ++i) {
    const auto* from = static_cast<const std::byte*>(in[i]);
    std::memcpy(pads[i].data(), from + static_cast<std::size_t>(whole) * in_size[i],
                rest * in_size[i]);
    in[i] = pads[i].data();
  }
  loop.run(pads[kMaxRows].data(), in.data(), kBlock, numbers);
  std::memcpy(out + static_cast<std::size_t>(whole) * out_size, pads[kMaxRows].data(),
              rest * out_size);
}

PLIMSOLL_CLONES void widen_half(const std::uint16_t* row, float* to, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) to[i] = math::from_half(row[i]);
}
PLIMSOLL_CLONES void widen_bfloat(const std::uint16_t* row, float* to, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) to[i] = math::from_bfloat(row[i]);
}
PLIMSOLL_CLONES void narrow_half(const float* row, std::uint16_t* to, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) to[i] = math::to_half(row[i]);
}
PLIMSOLL_CLONES void narrow_bfloat(const float* row, std::uint16_t* to, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) to[i] = math::to_bfloat(row[i]);
}

}  // namespace

void widen_row(DType from, const void* row, float* to, std::int64_t count) {
  const auto* bits = static_cast<const std::uint16_t*>(row);
  from == DType::f16 ? widen_half(bits, to, count) : widen_bfloat(bits, to, count);
}

void narrow_row(DType to, const float* row, void* narrow, std::int64_t count) {
  auto* bits = static_cast<std::uint16_t*>(narrow);
  to == DType::f16 ? narrow_half(row, bits, count) : narrow_bfloat(row, bits, count);
}

void run_chunks(const KernelContext& k, const ChunkLoop& loop, const Numbers& numbers,
                std::int64_t grain) {
  const TensorView& out = k.out(0);
  const std::int64_t elements = out.elements();
  const bool narrow = loop.widen && is_16_bit_float(out.dtype());
  const std::size_t out_size = dtype_size(out.dtype());
  const std::size_t loop_size = narrow ? 4 : out_size;
  std::vector<Input> inputs;
  std::array<std::size_t, kMaxRows> sizes{};
  for (const TensorView& in : k.inputs) {
    inputs.emplace_back(in, out.shape(), loop.widen);
    sizes[inputs.size() - 1] = inputs.back().row_size();
  }
  const std::int64_t chunks = (elements + kChunk - 1) / kChunk;
  parallel_for(chunks, grain / kChunk, [&](std::int64_t first, std::int64_t last) {
    std::array<Row, kMaxRows> rows;
    std::array<Row, kMaxRows> wide;
    Row result;
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].begin(rows[i], wide[i]);
    for (std::int64_t chunk = first; chunk < last; ++chunk) {
      const std::int64_t start = chunk * kChunk;
      const std::int64_t count = std::min(kChunk, elements - start);
      std::array<const void*, kMaxRows> in{};
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        in[i] = inputs[i].at(start, count, rows[i], wide[i]);
      }
      std::byte* to = out.as<std::byte>() + static_cast<std::size_t>(start) * out_size;
      std::byte* computed = narrow ? result.bytes.data() : to;
      if (loop.blocks) {
        run_blocks(loop, computed, loop_size, in, sizes, inputs.size(), count, numbers);
      } else {
        loop.run(computed, in.data(), count, numbers);
      }
      if (narrow) narrow_row(out.dtype(), reinterpret_cast<const float*>(computed), to, count);
    }
  });
}

}  // namespace plimsoll::cpu

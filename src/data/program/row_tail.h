#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <plimsoll/data/image/scratch.h>
#include <plimsoll/ops/kernel.h>

#include "data/program/parts.h"

namespace plimsoll::data {

/// Whether an instruction is done element by element on its first input, with nothing but constants
/// beside it, so that it can be done to some rows of a picture (rows, columns, `channels`) at a
/// time. With `planes` the picture is one of planes, of which an instruction must not know.
bool is_by_element(const Instruction& instruction, const Program::Parts& parts,
                   std::int64_t channels, bool planes);

/// Instructions that are done element by element to a picture that is being made row by row: by
/// their own kernels, to a few rows at a time while these are in the processor's cache, and from
/// there into the result. The bits are those of one instruction after the other. Thread-safe.
class RowTail {
 public:
  /// No instructions.
  RowTail() = default;
  /// `parts` must outlive this.
  RowTail(const std::vector<std::size_t>& instructions, const Program::Parts& parts, int height,
          int width, int channels, bool planes);

  bool empty() const { return calls_.empty(); }
  DType dtype() const { return calls_.back().to; }
  /// Rows that it takes at a time.
  int rows() const { return rows_; }
  /// Bytes of its buffers: the first of them is for `rows()` rows of f32.
  Bytes scratch() const { return scratch_; }
  /// Rows [first, first + made) of the picture are in `buffers`, of scratch() bytes; `out` is the
  /// whole result.
  void take(int first, int made, std::byte* buffers, void* out) const;

 private:
  struct Call {
    const ops::Kernel* kernel = nullptr;
    const Instruction* instruction = nullptr;
    DType to = DType::f32;
    Bytes buffer = 0;  ///< where its result goes, from the first one
  };

  void find_bytes();

  const Program::Parts* parts_ = nullptr;
  std::vector<Call> calls_;
  std::optional<float> added_to_bytes_;  ///< where the calls are an addition and a cast to u8
  int rows_ = 0;
  std::int64_t height_ = 0;
  std::int64_t width_ = 0;
  std::int64_t channels_ = 0;
  bool planes_ = false;
  Bytes scratch_ = 0;
};

}  // namespace plimsoll::data

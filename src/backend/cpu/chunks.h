#pragma once

#include <array>
#include <cstdint>

#include "backend/cpu/kernels.h"
#include "backend/cpu/math.h"

// Element by element over tensors that broadcast: the driver gives a loop one chunk of the output
// after another, with each input as a dense row beside it.

namespace plimsoll::cpu {

/// The length of a loop over f32 is a multiple of this, and the body is a loop of this constant
/// length: so there is no tail, and no element's bits depend on where it lies.
inline constexpr std::int64_t kBlock = 64;
/// The longest row.
inline constexpr std::int64_t kChunk = 1024;
inline constexpr int kMaxRows = 4;
/// Elements below which a second thread does not pay.
inline constexpr std::int64_t kElementGrain = 32768;

/// Parameters of an op, for a loop to convert to what it computes in.
using Numbers = std::array<double, 2>;

struct ChunkLoop {
  /// Writes out[i] from in[0][i], in[1][i] ... for i in [0, count). `out` may be one of them.
  void (*run)(void* out, const void* const* in, std::int64_t count, const Numbers& numbers);
  /// 16-bit floats are given and taken as f32.
  bool widen = true;
  /// `count` is a multiple of kBlock.
  bool blocks = false;
};

/// Runs `loop` over output 0 and all inputs, which broadcast to it, in several threads.
void run_chunks(const KernelContext& k, const ChunkLoop& loop, const Numbers& numbers = {},
                std::int64_t grain = kElementGrain);

/// Rows of 16-bit floats from and to f32; `count` need not be a multiple of anything.
void widen_row(DType from, const void* row, float* to, std::int64_t count);
void narrow_row(DType to, const float* row, void* narrow, std::int64_t count);

}  // namespace plimsoll::cpu

#pragma once

#include "backend/cuda/kernels/attention.h"
#include "backend/cuda/kernels/mma.cuh"

// What the kernels for few tokens share. Their blocks have a head each, in shared memory.

namespace plimsoll::cuda {

inline constexpr int kStep = ops::kShortStep;
inline constexpr float kLog2E = 1.44269504088896341F;

/// Where heads lie and what is asked of them.
struct ShortHeads {
  ops::AttentionLayout at_q;
  ops::AttentionLayout at_k;
  ops::AttentionLayout at_v;
  ops::AttentionLayout at_y;
  int heads;
  int group;  ///< of heads that share one of keys and values
  int queries;
  int keys;
  int ahead;  ///< query i sees the keys up to i + ahead
  float scale;
  const bool* mask;  ///< of keys; null: all count
  int mask_units;    ///< that share a row of it
};

inline ShortHeads short_heads(const ops::AttentionShape& s, const AttentionArrays& arrays) {
  return {.at_q = s.q,
          .at_k = s.k,
          .at_v = s.v,
          .at_y = s.y,
          .heads = static_cast<int>(s.heads),
          .group = static_cast<int>(s.group),
          .queries = static_cast<int>(s.queries),
          .keys = static_cast<int>(s.keys),
          .ahead = static_cast<int>(s.causal ? s.keys - s.queries : s.keys),
          .scale = static_cast<float>(s.scale),
          .mask = arrays.mask,
          .mask_units = static_cast<int>(s.heads * s.mask_batches)};
}

/// Where a unit begins: a head of a batch. `group`: of heads that share one, as of k and v.
__device__ __forceinline__ std::int64_t unit_start(const ops::AttentionLayout& at, unsigned unit,
                                                   int heads, int group = 1) {
  const unsigned batch = unit / static_cast<unsigned>(heads);
  const unsigned head = unit % static_cast<unsigned>(heads) / static_cast<unsigned>(group);
  return at.start + batch * at.batch + head * at.head;
}

/// Keys that one word of a mask's bits is for.
inline constexpr int kMaskKeys = 32;
/// Words of all keys of a head.
inline constexpr int kMaskWords = static_cast<int>(ops::kShortMaskedTokens) / kMaskKeys;
static_assert(ops::kShortMaskedTokens % kMaskKeys == 0 &&
              ops::kShortTokens <= ops::kShortMaskedTokens);

/// Which of the unit's keys count, as bits of `words`: by one warp of `warps`, that of number
/// `warp`. Bits after the last key are 0.
__device__ __forceinline__ void find_keys(unsigned* words, const ShortHeads& a, unsigned unit,
                                          int warp, int warps) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const bool* mask =
      a.mask == nullptr
          ? nullptr
          : a.mask + static_cast<std::int64_t>(unit / static_cast<unsigned>(a.mask_units)) * a.keys;
  for (int word = warp; word < kMaskWords; word += warps) {
    const int key = word * kMaskKeys + lane;
    const bool counts = key < a.keys && (mask == nullptr || mask[key]);
    const unsigned bits = __ballot_sync(0xffffffffU, counts);
    if (lane == 0) words[word] = bits;
  }
}

__host__ __device__ constexpr int whole_steps(int tokens) {
  return (tokens + kStep - 1) / kStep * kStep;
}

/// Rows of kSize elements in shared memory, from an address that is a multiple of 128. The chunks
/// of 16 bytes in a row change places with the row's number, so that one chunk of eight rows that
/// follow each other is in all banks.
template <int kSize>
struct Rows {
  static constexpr int kBytes = kSize * 2;
  static constexpr int kChunks = kSize / 8;

  static __device__ __forceinline__ unsigned at(int row, int chunk) {
    const int turn = kSize == 64 ? row & 7 : row >> 1 & 3;
    return static_cast<unsigned>(row * kBytes + ((chunk ^ turn) << 4));
  }
  /// Where this lane's row begins of 16x16 elements: as A from rows, as B from columns.
  static __device__ __forceinline__ unsigned square() {
    const int lane = static_cast<int>(threadIdx.x % 32);
    return at(lane & 15, lane >> 4);
  }
  /// The same as B from rows, two of them.
  static __device__ __forceinline__ unsigned pair() {
    const int lane = static_cast<int>(threadIdx.x % 32);
    return at((lane & 7) + (lane >> 4) * 8, lane >> 3 & 1);
  }
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/// Copies steps `begin` to `end` of `tokens` rows, with zeros after the last, by one warp. Done
/// after wait_for_copies().
template <typename T, int kSize>
__device__ __forceinline__ void copy_steps(unsigned to, const T* from, std::int64_t stride,
                                           int tokens, int begin, int end) {
  using R = Rows<kSize>;
  constexpr int kRows = 32 / R::kChunks;  // of a warp at a time
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int chunk = lane % R::kChunks;
  const int first = begin * kStep + lane / R::kChunks;
  const T* at = from + first * stride + chunk * 8;
  for (int step = begin; step < end; ++step) {
#pragma unroll
    for (int i = 0; i < kStep / kRows; ++i) {
      const bool there = step * kStep + i * kRows + lane / R::kChunks < tokens;
      copy_async(to + static_cast<unsigned>(step * kStep * R::kBytes) +
                     R::at(i * kRows + lane / R::kChunks, chunk),
                 there ? at : from, there);
      at += kRows * stride;
    }
  }
}

/// 16 rows of sums times factors, `count` of them at most: `low` for the first eight.
template <typename T, int kSize>
__device__ __forceinline__ void store_rows(T* to, std::int64_t stride,
                                           const float (&sums)[kSize / 8][4], int count, float low,
                                           float high) {
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = lane / 4 + half * 8;
    const float factor = half == 0 ? low : high;
#pragma unroll
    for (int n = 0; n < kSize / 8; n += 4) {
      unsigned words[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        words[i] = pack<T>(sums[n + i][half * 2] * factor, sums[n + i][half * 2 + 1] * factor);
      }
      transpose_quad(words);
      if (row < count) {
        *reinterpret_cast<uint4*>(to + row * stride + (n + lane % 4) * 8) =
            make_uint4(words[0], words[1], words[2], words[3]);
      }
    }
  }
}

#endif

}  // namespace plimsoll::cuda

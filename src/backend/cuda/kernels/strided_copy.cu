#include "backend/cuda/kernels/strided_copy.h"

#include <algorithm>
#include <cstring>

#include <plimsoll/ops/element.h>

#include "backend/cuda/kernels/dtype.cuh"
#include "backend/cuda/kernels/index.cuh"
#include "backend/cuda/kernels/launch.h"
#include "backend/cuda/kernels/many.cuh"

namespace plimsoll::cuda {
namespace {

using CopyWalk = Walk<2>;  // to, from

/// Each unit is one word on both sides.
template <typename W>
__global__ void __launch_bounds__(kThreads)
    move_kernel(W* __restrict__ to, const W* __restrict__ from,
                const __grid_constant__ Index<2> index, std::uint32_t units) {
  constexpr int U = 4;
  const std::uint32_t stride = gridDim.x * kThreads * U;
  for (std::uint32_t tile = blockIdx.x * kThreads * U; tile < units; tile += stride) {
    W word[U];
    std::int64_t place[U];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      std::int64_t at[2];
      index.locate(min(tile + u * kThreads + threadIdx.x, units - 1), at);
      place[u] = at[0];
      word[u] = from[at[1]];
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {
      if (tile + u * kThreads + threadIdx.x < units) to[place[u]] = word[u];
    }
  }
}

/// Each unit is 16 bytes of `to`, and one element of `from`, repeated.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    repeat_kernel(uint4* __restrict__ to, const T* __restrict__ from,
                  const __grid_constant__ Index<2> index, std::uint32_t units) {
  const std::uint32_t stride = gridDim.x * kThreads;
  for (std::uint32_t unit = blockIdx.x * kThreads + threadIdx.x; unit < units; unit += stride) {
    std::int64_t at[2];
    index.locate(unit, at);
    Vec<T> vec;
    const T one = from[at[1]];
#pragma unroll
    for (int i = 0; i < kVector<T>; ++i) vec.lane[i] = one;
    store_vec(reinterpret_cast<T*>(to + at[0]), vec);
  }
}

template <typename T>
inline constexpr int kSide = sizeof(T) <= 2 ? 64 : 32;
/// Columns of a tile in shared memory lie in different banks.
template <typename T>
inline constexpr int kPitch = kSide<T> + static_cast<int>(sizeof(T) < 4 ? 4 / sizeof(T) : 1);

/// Matrices whose rows are dense in `to` and whose columns are dense in `from`.
struct Tiles {
  Index<2> matrix;
  std::int64_t tall = 0;  ///< rows of `to`
  std::int64_t wide = 0;
  std::int64_t to_pitch = 0;    ///< from row to row of `to`
  std::int64_t from_pitch = 0;  ///< from column to column of `from`
  Divider across;               ///< tiles beside each other
  Divider down;
  std::uint32_t count = 0;
};

template <typename T>
__global__ void __launch_bounds__(kThreads)
    tile_kernel(T* __restrict__ to, const T* __restrict__ from,
                const __grid_constant__ Tiles tiles) {
  constexpr int S = kSide<T>;
  __shared__ T square[S][kPitch<T>];
  const int x = static_cast<int>(threadIdx.x) % 32;
  const int y = static_cast<int>(threadIdx.x) / 32;
  for (std::uint32_t tile = blockIdx.x; tile < tiles.count; tile += gridDim.x) {
    std::uint32_t rest = tile;
    const std::int64_t column = static_cast<std::int64_t>(tiles.across.divide(rest)) * S;
    const std::int64_t row = static_cast<std::int64_t>(tiles.down.divide(rest)) * S;
    std::int64_t at[2];
    tiles.matrix.locate(rest, at);
    const T* source = from + at[1] + row + column * tiles.from_pitch;
    T* target = to + at[0] + row * tiles.to_pitch + column;
    const std::int64_t rows = tiles.tall - row;
    const std::int64_t columns = tiles.wide - column;
    // All loads before the first is waited for.
    T held[S / 8][S / 32];
#pragma unroll
    for (int j = 0; j < S / 8; ++j) {
#pragma unroll
      for (int i = 0; i < S / 32; ++i) {
        const bool within = y + j * 8 < columns && x + i * 32 < rows;
        held[j][i] = within ? source[(y + j * 8) * tiles.from_pitch + x + i * 32] : T{0};
      }
    }
#pragma unroll
    for (int j = 0; j < S / 8; ++j) {
#pragma unroll
      for (int i = 0; i < S / 32; ++i) square[y + j * 8][x + i * 32] = held[j][i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < S; i += 8) {
#pragma unroll
      for (int j = 0; j < S; j += 32) {
        if (y + i < rows && x + j < columns) {
          target[(y + i) * tiles.to_pitch + x + j] = square[x + j][y + i];
        }
      }
    }
    __syncthreads();
  }
}

/// 16-byte words, and what is left of one by single bytes.
__global__ void __launch_bounds__(kThreads)
    fill_kernel(std::uint8_t* to, uint4 pattern, std::int64_t bytes) {
  const std::int64_t words = bytes / 16;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (std::int64_t i = first; i < words; i += stride) reinterpret_cast<uint4*>(to)[i] = pattern;
  if (first < bytes % 16) {
    std::uint8_t each[16];
    __builtin_memcpy(each, &pattern, 16);
    std::uint8_t mine = 0;
#pragma unroll
    for (int i = 0; i < 16; ++i) mine = first == i ? each[i] : mine;
    to[words * 16 + first] = mine;
  }
}

struct WordPart {
  uint4* to;
  const uint4* from;
  std::int64_t words;
};
using WordParts = Many<WordPart, 64>;

constexpr int kWordsEach = 4;  ///< that a thread has in flight
constexpr std::int64_t kWordsOfBlock = kThreads * kWordsEach;

__global__ void __launch_bounds__(kThreads) parts_kernel(const __grid_constant__ WordParts parts) {
  const int which = parts.find(blockIdx.x);
  const WordPart part = parts.entries[which];
  const std::int64_t begin =
      static_cast<std::int64_t>(blockIdx.x - parts.first[which]) * kWordsOfBlock + threadIdx.x;
  uint4 word[kWordsEach];
#pragma unroll
  for (int i = 0; i < kWordsEach; ++i) {
    if (begin + i * kThreads < part.words) word[i] = part.from[begin + i * kThreads];
  }
#pragma unroll
  for (int i = 0; i < kWordsEach; ++i) {
    if (begin + i * kThreads < part.words) part.to[begin + i * kThreads] = word[i];
  }
}

bool aligned(const void* at, std::int64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(at) % static_cast<std::uintptr_t>(bytes) == 0;
}

/// The widest word that divides all runs and places of a copy whose last dimension is dense on both
/// sides.
std::int64_t word_of(const CopyWalk& walk, const void* to, const void* from, std::int64_t size) {
  std::int64_t word = 16;
  const auto fits = [&] {
    if (!aligned(to, word) || !aligned(from, word)) return false;
    for (int i = 0; i < walk.rank - 1; ++i) {
      if (walk.stride(i)[0] * size % word != 0 || walk.stride(i)[1] * size % word != 0) {
        return false;
      }
    }
    return walk.extent(walk.rank - 1) * size % word == 0;
  };
  while (word > size && !fits()) word /= 2;
  return word;
}

/// `walk` with everything counted in units of `each` elements of the last dimension.
CopyWalk in_units_of(const CopyWalk& walk, std::int64_t each) {
  CopyWalk units = walk;
  units.extent(walk.rank - 1) /= each;
  for (int i = 0; i < walk.rank - 1; ++i) {
    units.stride(i)[0] /= each;
    units.stride(i)[1] /= each;
  }
  return units;
}

template <typename W>
void move_units(void* to, const void* from, const CopyWalk& walk, cudaStream_t queue) {
  const std::int64_t units = walk.elements();
  move_kernel<W><<<blocks_for((units + 3) / 4, kThreads, 1 << 20), kThreads, 0, queue>>>(
      static_cast<W*>(to), static_cast<const W*>(from), Index<2>(walk),
      static_cast<std::uint32_t>(units));
  check_launch("copy");
}

void move_words(void* to, const void* from, const CopyWalk& walk, std::int64_t word,
                cudaStream_t queue) {
  if (word == 16) return move_units<uint4>(to, from, walk, queue);
  with_size(static_cast<std::size_t>(word),
            [&]<typename W>() { move_units<W>(to, from, walk, queue); });
}

/// The dimension that is dense in `from` where the last one is not but is in `to`, and where tiles
/// pay; -1 if there is none.
int tall_dimension(const CopyWalk& walk) {
  constexpr std::int64_t kWorth = 8;
  const int last = walk.rank - 1;
  if (walk.stride(last)[0] != 1 || walk.stride(last)[1] <= 1 || walk.extent(last) < kWorth) {
    return -1;
  }
  for (int i = 0; i < last; ++i) {
    if (walk.stride(i)[1] == 1 && walk.extent(i) >= kWorth) return i;
  }
  return -1;
}

template <typename T>
void move_tiles(void* to, const void* from, const CopyWalk& walk, int tall, cudaStream_t queue) {
  const int last = walk.rank - 1;
  CopyWalk matrices;
  for (int i = 0; i < last; ++i) {
    if (i != tall) matrices.add(walk.extent(i), walk.stride(i));
  }
  Tiles tiles;
  tiles.matrix = Index<2>(matrices);
  tiles.tall = walk.extent(tall);
  tiles.wide = walk.extent(last);
  tiles.to_pitch = walk.stride(tall)[0];
  tiles.from_pitch = walk.stride(last)[1];
  const std::int64_t across = (tiles.wide + kSide<T> - 1) / kSide<T>;
  const std::int64_t down = (tiles.tall + kSide<T> - 1) / kSide<T>;
  tiles.across = Divider(across);
  tiles.down = Divider(down);
  tiles.count = static_cast<std::uint32_t>(across * down * matrices.elements());
  tile_kernel<T><<<std::min<std::uint32_t>(tiles.count, 1U << 20), kThreads, 0, queue>>>(
      static_cast<T*>(to), static_cast<const T*>(from), tiles);
  check_launch("copy");
}

/// The last dimension of `walk` repeats an element, and 16 bytes divide it.
template <typename T>
void repeat(void* to, const void* from, const CopyWalk& walk, cudaStream_t queue) {
  CopyWalk units = walk;
  units.extent(walk.rank - 1) /= kVector<T>;
  for (int i = 0; i < walk.rank - 1; ++i) units.stride(i)[0] /= kVector<T>;
  const std::int64_t count = units.elements();
  repeat_kernel<T><<<blocks_for(count, kThreads, 1 << 20), kThreads, 0, queue>>>(
      static_cast<uint4*>(to), static_cast<const T*>(from), Index<2>(units),
      static_cast<std::uint32_t>(count));
  check_launch("copy");
}

bool repeats_words(const CopyWalk& walk, const void* to, std::int64_t size) {
  const int last = walk.rank - 1;
  if (walk.stride(last)[0] != 1 || walk.stride(last)[1] != 0 || !aligned(to, 16)) return false;
  for (int i = 0; i < last; ++i) {
    if (walk.stride(i)[0] * size % 16 != 0) return false;
  }
  return walk.extent(last) * size % 16 == 0;
}

void copy_piece(void* to, const void* from, std::int64_t size, const CopyWalk& walk,
                cudaStream_t queue) {
  if (walk.rank == 0) return move_words(to, from, walk, size, queue);
  const int last = walk.rank - 1;
  if (walk.stride(last)[0] == 1 && walk.stride(last)[1] == 1) {
    const std::int64_t word = word_of(walk, to, from, size);
    return move_words(to, from, in_units_of(walk, word / size), word, queue);
  }
  with_size(static_cast<std::size_t>(size), [&]<typename T>() {
    if (repeats_words(walk, to, size)) return repeat<T>(to, from, walk, queue);
    const int tall = tall_dimension(walk);
    if (tall >= 0) return move_tiles<T>(to, from, walk, tall, queue);
    move_units<T>(to, from, walk, queue);
  });
}

}  // namespace

void copy_strided(void* to, const void* from, std::size_t size, std::span<const CopyDim> dims,
                  cudaStream_t queue) {
  CopyWalk all;
  for (const CopyDim& dim : dims) {
    if (dim.extent == 0) return;
    all.add(dim.extent, {dim.to, dim.from});
  }
  const auto bytes = static_cast<std::int64_t>(size);
  if (all.rank == 1 && all.stride(0)[0] == 1 && all.stride(0)[1] == 1 &&
      all.extent(0) * bytes % 16 != 0) {
    const auto whole = static_cast<std::size_t>(all.extent(0) * bytes);
    return check(cudaMemcpyAsync(to, from, whole, cudaMemcpyDeviceToDevice, queue), "copy");
  }
  for_pieces(all, [&](const CopyWalk& walk, const CopyWalk::Strides& offsets) {
    copy_piece(static_cast<std::byte*>(to) + offsets[0] * bytes,
               static_cast<const std::byte*>(from) + offsets[1] * bytes, bytes, walk, queue);
  });
}

void copy_parts(std::span<const CopyPart> parts, cudaStream_t queue) {
  WordParts together;
  const auto flush = [&] {
    if (together.count == 0) return;
    parts_kernel<<<together.blocks(), kThreads, 0, queue>>>(together);
    check_launch("copy");
    together.count = 0;
  };
  for (const CopyPart& part : parts) {
    if (part.bytes == 0) continue;
    if (part.bytes % 16 != 0 || !aligned(part.to, 16) || !aligned(part.from, 16)) {
      check(cudaMemcpyAsync(part.to, part.from, static_cast<std::size_t>(part.bytes),
                            cudaMemcpyDeviceToDevice, queue),
            "copy");
      continue;
    }
    const std::int64_t words = part.bytes / 16;
    together.add({static_cast<uint4*>(part.to), static_cast<const uint4*>(part.from), words},
                 static_cast<unsigned>((words + kWordsOfBlock - 1) / kWordsOfBlock));
    if (together.full()) flush();
  }
  flush();
}

std::uint64_t element_bits(DType dtype, double value) {
  std::uint64_t bits = 0;
  const auto put = [&](auto element) { std::memcpy(&bits, &element, sizeof(element)); };
  switch (dtype) {
    case DType::f64:
      put(value);
      break;
    case DType::f32:
      put(static_cast<float>(value));
      break;
    case DType::f16:
      put(float_to_half_bits(static_cast<float>(value)));
      break;
    case DType::bf16:
      put(float_to_bfloat_bits(static_cast<float>(value)));
      break;
    case DType::boolean:
      put(static_cast<std::uint8_t>(value != 0 ? 1 : 0));
      break;
    default:
      with_integer(dtype, [&]<typename T>() { put(ops::nearest_integer<T>(value)); });
  }
  return bits;
}

void fill(const ops::TensorView& view, double value, cudaStream_t queue) {
  fill_bits(view, element_bits(view.dtype(), value), queue);
}

void fill_bits(const ops::TensorView& view, std::uint64_t bits, cudaStream_t queue) {
  const auto bytes = static_cast<std::int64_t>(view.type.bytes());
  if (bytes == 0) return;
  if (bits == 0) {
    return check(cudaMemsetAsync(view.data, 0, static_cast<std::size_t>(bytes), queue), "fill");
  }
  const std::size_t size = dtype_size(view.dtype());
  std::uint8_t repeated[16];
  for (std::size_t i = 0; i < sizeof(repeated); i += size) std::memcpy(repeated + i, &bits, size);
  uint4 pattern;
  std::memcpy(&pattern, repeated, sizeof(pattern));
  fill_kernel<<<blocks_for((bytes + 15) / 16), kThreads, 0, queue>>>(view.as<std::uint8_t>(),
                                                                     pattern, bytes);
  check_launch("fill");
}

}  // namespace plimsoll::cuda

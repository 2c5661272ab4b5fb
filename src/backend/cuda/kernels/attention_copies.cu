// The gradient of attention on copies to which tokens are added up to whole blocks. What is added
// is zeros, and sums so large that no score of an added query counts: then it adds nothing to any
// gradient, as long as the weights of added keys are finite. A causal mask hides those keys, the
// library's mask does, or their marks do.
#include <cstddef>
#include <utility>

#include "backend/cuda/kernels/attention.h"
#include "backend/cuda/kernels/index.cuh"
#include "backend/cuda/kernels/launch.h"
#include "backend/cuda/kernels/strided_copy.h"

namespace plimsoll::cuda {
namespace {

using ops::AttentionLayout;
using ops::AttentionShape;

constexpr std::int64_t kElements = 8;  ///< of 16 bits, in a vector of 16 bytes
constexpr float kNoScoreCounts = 1e30F;

/// The rows of one array, to those of another with more tokens, or fewer.
struct Move {
  uint4* to = nullptr;
  const uint4* from = nullptr;
  AttentionLayout at_to;  ///< both in vectors
  AttentionLayout at_from;
  std::uint32_t vectors = 0;      ///< of a batch in `to`
  std::uint32_t tokens_from = 0;  ///< others get zeros
  std::uint32_t old_mark = 0;     ///< two elements of the columns that `from` does not have
  std::uint32_t new_mark = 0;     ///< the same for added tokens
  Divider inner;                  ///< heads, or tokens of `to`: whichever lie closer together
};

constexpr int kMostMoves = 5;

struct Moves {
  Move list[kMostMoves];
  std::int64_t batches = 0;
  bool heads_inside = false;
  Divider row;                 ///< vectors of a row of a head in `to`
  std::uint32_t row_from = 0;  ///< and in `from`
};

/// The moves are the grid's second dimension, the batches its third.
__global__ void __launch_bounds__(kThreads) move_kernel(const __grid_constant__ Moves moves) {
  const Move& move = moves.list[blockIdx.y];
  for (std::int64_t batch = blockIdx.z; batch < moves.batches; batch += gridDim.z) {
    for (std::uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < move.vectors;
         i += gridDim.x * kThreads) {
      std::uint32_t rest = i;
      const std::uint32_t column = moves.row.divide(rest);
      const std::uint32_t inner = move.inner.divide(rest);
      const std::uint32_t head = moves.heads_inside ? inner : rest;
      const std::uint32_t token = moves.heads_inside ? rest : inner;
      const auto place = [&](const AttentionLayout& at) {
        return at.start + batch * at.batch + head * at.head + token * at.row + column;
      };
      const bool is_old = token < move.tokens_from;
      uint4 vector = make_uint4(0, 0, 0, 0);
      if (column >= moves.row_from) {
        const std::uint32_t mark = is_old ? move.old_mark : move.new_mark;
        vector = make_uint4(mark, mark, mark, mark);
      } else if (is_old) {
        vector = move.from[place(move.at_from)];
      }
      move.to[place(move.at_to)] = vector;
    }
  }
}

/// Sums of `rows` heads, and how many tokens of each of `batches` count.
struct SumsArguments {
  float* to;
  const float* from;
  std::int64_t rows;
  std::int64_t tokens_to;
  std::int64_t tokens_from;
  std::int32_t* query_lengths;
  std::int32_t* key_lengths;
  std::int64_t batches;
  std::int32_t queries;
  std::int32_t keys;
};

__global__ void __launch_bounds__(kThreads) sums_kernel(SumsArguments a) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = first; i < a.rows * a.tokens_to; i += stride) {
    const std::int64_t row = i / a.tokens_to;
    const std::int64_t token = i - row * a.tokens_to;
    a.to[i] = token < a.tokens_from ? a.from[row * a.tokens_from + token] : kNoScoreCounts;
  }
  for (std::int64_t i = first; i < a.batches; i += stride) {
    a.query_lengths[i] = a.queries;
    a.key_lengths[i] = a.keys;
  }
}

/// In vectors, from batch `first` on.
AttentionLayout in_vectors(const AttentionLayout& at, std::int64_t first) {
  return {(at.start + first * at.batch) / kElements, at.batch / kElements, at.head / kElements,
          at.row / kElements};
}

/// Moves between `batches` of two shapes that differ in tokens and columns.
class Mover {
 public:
  Mover(const AttentionShape& to, const AttentionShape& from, std::int64_t batches)
      : row_(to.size / kElements) {
    moves_.batches = batches;
    moves_.heads_inside = to.together;
    moves_.row = Divider(row_);
    moves_.row_from = static_cast<std::uint32_t>(from.size / kElements);
  }

  /// `tokens_to` and `tokens_from`: of each of `heads`. Layouts as `in_vectors` gives them.
  void add(std::int64_t heads, void* to, const AttentionLayout& at_to, std::int64_t tokens_to,
           const void* from, const AttentionLayout& at_from, std::int64_t tokens_from,
           std::uint32_t old_mark = 0, std::uint32_t new_mark = 0) {
    moves_.list[count_++] = {
        .to = static_cast<uint4*>(to),
        .from = static_cast<const uint4*>(from),
        .at_to = at_to,
        .at_from = at_from,
        .vectors = static_cast<std::uint32_t>(heads * tokens_to * row_),
        .tokens_from = static_cast<std::uint32_t>(tokens_from),
        .old_mark = old_mark,
        .new_mark = new_mark,
        .inner = Divider(moves_.heads_inside ? heads : tokens_to),
    };
    most_ = std::max(most_, heads * tokens_to * row_);
  }

  void run(cudaStream_t stream) const {
    constexpr std::int64_t kMostDeep = 65535;
    const dim3 grid(blocks_for(most_), static_cast<unsigned>(count_),
                    static_cast<unsigned>(std::min(moves_.batches, kMostDeep)));
    move_kernel<<<grid, kThreads, 0, stream>>>(moves_);
    check_launch("attention_grad");
  }

 private:
  Moves moves_;
  std::int64_t row_;
  std::int64_t most_ = 0;
  int count_ = 0;
};

/// Two elements with the number that marks are made of.
std::uint32_t mark(DType dtype, double sign) {
  const double large = dtype == DType::f16 ? 65504.0 : 0x1p60;
  const auto bits = static_cast<std::uint32_t>(element_bits(dtype, sign * large));
  return bits << 16U | bits;
}

/// Where the copies are.
AttentionArrays lay_out(std::byte*& at, const AttentionShape& run,
                        const ops::AttentionCopies& sizes) {
  const auto take = [&](Bytes bytes) { return std::exchange(at, at + bytes); };
  AttentionArrays copies;
  // The parts of one array have layouts that start at different places of it.
  copies.q = take(sizes.queries);
  copies.k = take(sizes.keys);
  copies.v = take(sizes.keys);
  copies.dq = take(sizes.queries);
  copies.dk = take(sizes.keys);
  copies.dv = take(sizes.keys);
  if (run.together) {
    copies.k = copies.v = copies.q;
    copies.dk = copies.dv = copies.dq;
  }
  copies.y = take(sizes.queries);
  copies.dy = take(sizes.queries);
  copies.log_sums = take(sizes.sums);
  copies.query_lengths = take(sizes.lengths);
  copies.key_lengths = take(sizes.lengths);
  return copies;
}

}  // namespace

void run_fused_attention_on_copies(const AttentionShape& shape, const FusedAttention& fused,
                                   const AttentionArrays& arrays, void* workspace,
                                   cudaStream_t stream) {
  const AttentionShape& s = shape;
  const std::int64_t n = fused.batches;
  FusedAttention part = fused;
  part.shape.batches = n;
  const AttentionShape& run = part.shape;
  auto* at = static_cast<std::byte*>(workspace);
  const AttentionArrays copies = lay_out(at, run, ops::attention_copies(s, n, run.size - s.size));
  const std::uint32_t above = mark(fused.dtype, 1);
  const std::uint32_t below = mark(fused.dtype, -1);
  const auto writable = [](const void* copy) { return const_cast<void*>(copy); };
  for (std::int64_t b = 0; b < s.batches; b += n) {
    Mover in(run, s, n);
    const auto copy = [&](const void* to, const void* from, const AttentionLayout& at_to,
                          const AttentionLayout& at_from, bool of_queries,
                          std::uint32_t old_mark = 0, std::uint32_t new_mark = 0) {
      in.add(of_queries ? s.heads : s.key_heads(), writable(to), in_vectors(at_to, 0),
             of_queries ? run.queries : run.keys, from, in_vectors(at_from, b),
             of_queries ? s.queries : s.keys, old_mark, new_mark);
    };
    copy(copies.q, arrays.q, run.q, s.q, true, above, 0);
    copy(copies.k, arrays.k, run.k, s.k, false, 0, below);
    copy(copies.v, arrays.v, run.v, s.v, false);
    copy(copies.y, arrays.y, run.y, s.y, true);
    copy(copies.dy, arrays.dy, run.y, s.y, true);
    in.run(stream);

    const SumsArguments sums{
        .to = static_cast<float*>(copies.log_sums),
        .from = static_cast<const float*>(arrays.log_sums) + b * s.heads * s.queries,
        .rows = n * s.heads,
        .tokens_to = run.queries,
        .tokens_from = s.queries,
        .query_lengths = static_cast<std::int32_t*>(writable(copies.query_lengths)),
        .key_lengths = static_cast<std::int32_t*>(writable(copies.key_lengths)),
        .batches = n,
        .queries = static_cast<std::int32_t>(s.queries),
        .keys = static_cast<std::int32_t>(s.keys)};
    sums_kernel<<<blocks_for(sums.rows * sums.tokens_to), kThreads, 0, stream>>>(sums);
    check_launch("attention_grad");

    run_fused_attention(part, copies, at, stream);

    Mover out(s, run, n);
    const auto take_back = [&](void* to, const void* from, const AttentionLayout& at_to,
                               const AttentionLayout& at_from, bool of_queries) {
      out.add(of_queries ? s.heads : s.key_heads(), to, in_vectors(at_to, b),
              of_queries ? s.queries : s.keys, from, in_vectors(at_from, 0),
              of_queries ? run.queries : run.keys);
    };
    take_back(arrays.dq, copies.dq, s.q, run.q, true);
    take_back(arrays.dk, copies.dk, s.k, run.k, false);
    take_back(arrays.dv, copies.dv, s.v, run.v, false);
    out.run(stream);
  }
}

}  // namespace plimsoll::cuda

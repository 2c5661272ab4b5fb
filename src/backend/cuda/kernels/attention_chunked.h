#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <plimsoll/ops/attention_chunks.h>

#include "backend/cuda/kernels/attention.h"
#include "backend/cuda/libraries/gemm.h"

// Attention by matrix products, a chunk of scores at a time: see ops::attention_chunks. For f32
// (also in TF32) and f64.

namespace plimsoll::cuda {

/// Some heads' rows of scores in a workspace, and what belongs to them.
struct ScoreRows {
  std::int64_t units = 1;
  std::int64_t queries = 0;  ///< of each unit: the rows
  std::int64_t columns = 0;  ///< keys of which there are scores
  std::int64_t stride = 0;   ///< from row to row
  std::int64_t step = 0;     ///< from unit to unit
  std::int64_t seen = 0;     ///< keys that the first query sees
  bool causal = false;       ///< then the next one sees one more, and so on; else all the same
  double scale = 1;
  std::int64_t log_sums_step = 0;  ///< from unit to unit
  const bool* mask = nullptr;      ///< of keys, in rows of `keys`; null: all count
  std::int64_t keys = 0;
  std::int64_t mask_batches = 1;  ///< that share a row of it
  std::int64_t batch = 0;         ///< of the first unit
  std::int64_t batch_step = 0;    ///< from unit to unit
};

/// Scores become weights in their place; `log_sums` is written.
void softmax_scores(void* scores, void* log_sums, const ScoreRows& rows, DType dtype,
                    cudaStream_t stream);

/// What the gradient of scores needs of y: rows of `size` elements.
struct ValueRows {
  const void* y = nullptr;
  const void* dy = nullptr;
  std::int64_t size = 0;
  std::int64_t row = 0;   ///< from row to row
  std::int64_t step = 0;  ///< from unit to unit
};
/// Scores become weights in their place, and the gradients of weights those of scores in theirs.
/// `d_log_sums` may be null.
void softmax_scores_grad(void* scores, void* gradients, const void* log_sums,
                         const void* d_log_sums, const ValueRows& values, const ScoreRows& rows,
                         DType dtype, cudaStream_t stream);

/// Attention or its gradient, prepared for a shape. Does not change.
class ChunkedAttention {
 public:
  /// `shape` is one that ops::chunked_attention takes, with heads apart.
  ChunkedAttention(cublasLtHandle_t blas, const ops::AttentionShape& shape, DType dtype, bool tf32,
                   bool grad);

  Bytes workspace() const { return chunks_.total(); }
  void run(cublasLtHandle_t blas, const AttentionArrays& arrays, void* workspace,
           cudaStream_t stream) const;

 private:
  /// Queries from `first` on, for some number of units.
  struct Block {
    std::int64_t first = 0;
    std::int64_t queries = 0;
    std::int64_t keys = 0;
    std::vector<Gemm> products;
  };

  /// The chunk of `other` (a head, or a batch) that begins at `unit`, in the lane at `scores`.
  void run_chunk(cublasLtHandle_t blas, const AttentionArrays& arrays, std::int64_t other,
                 std::int64_t unit, std::byte* scores, cudaStream_t stream) const;
  std::vector<Block> blocks_for(cublasLtHandle_t blas, std::int64_t units) const;
  std::int64_t across() const { return chunks_.of_batches ? shape_.batches : shape_.heads; }
  std::int64_t step_of(const ops::AttentionLayout& layout) const {
    return chunks_.of_batches ? layout.batch : layout.head;
  }
  GemmOperand operand(const ops::AttentionLayout& layout, bool transposed) const;

  ops::AttentionShape shape_;
  DType dtype_;
  bool tf32_;
  bool grad_;
  ops::AttentionChunks chunks_;
  std::vector<Block> main_;
  std::vector<Block> rest_;  ///< for the last units, if they are fewer
};

}  // namespace plimsoll::cuda

#include "backend/cuda/kernels/attention_chunked.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "backend/cuda/libraries/libraries.h"
#include "backend/cuda/libraries/side_stream.h"

namespace plimsoll::cuda {
namespace {

using ops::AttentionLayout;

// Of a block's products.
enum Forward : std::size_t { kScores, kResult };
enum Backward : std::size_t { kScoresAgain, kWeightsGrad, kValuesGrad, kQueriesGrad, kKeysGrad };

}  // namespace

ChunkedAttention::ChunkedAttention(cublasLtHandle_t blas, const ops::AttentionShape& shape,
                                   DType dtype, bool tf32, bool grad)
    : shape_(shape),
      dtype_(dtype),
      tf32_(tf32),
      grad_(grad),
      chunks_(ops::attention_chunks(shape, dtype, grad)) {
  main_ = blocks_for(blas, chunks_.units);
  if (const std::int64_t left = across() % chunks_.units; left != 0) rest_ = blocks_for(blas, left);
}

GemmOperand ChunkedAttention::operand(const AttentionLayout& layout, bool transposed) const {
  const std::int64_t other = chunks_.of_batches ? layout.head : layout.batch;
  Bytes alignment = 256;
  for (const std::int64_t step :
       {layout.start, other, chunks_.units * step_of(layout), chunks_.queries * layout.row}) {
    alignment = std::min(alignment, alignment_of_step(step, dtype_));
  }
  return {.dtype = dtype_,
          .stride = layout.row,
          .transposed = transposed,
          .step = step_of(layout),
          .alignment = alignment};
}

std::vector<ChunkedAttention::Block> ChunkedAttention::blocks_for(cublasLtHandle_t blas,
                                                                  std::int64_t units) const {
  std::vector<Block> blocks;
  for (std::int64_t first = 0; first < shape_.queries; first += chunks_.queries) {
    Block& block = blocks.emplace_back();
    block.first = first;
    block.queries = std::min(chunks_.queries, shape_.queries - first);
    block.keys = ops::chunk_keys(shape_, first + block.queries);
    const auto known = std::find_if(blocks.begin(), blocks.end() - 1, [&](const Block& other) {
      return other.queries == block.queries && other.keys == block.keys;
    });
    if (known != blocks.end() - 1) {
      block.products = known->products;
      continue;
    }
    const GemmOperand scores{
        .dtype = dtype_, .stride = chunks_.stride, .step = chunks_.queries * chunks_.stride};
    GemmOperand scores_across = scores;
    scores_across.transposed = true;
    const auto add = [&](std::int64_t m, std::int64_t n, std::int64_t k, const GemmOperand& a,
                         const GemmOperand& b, const GemmOperand& c) {
      block.products.emplace_back(
          blas,
          GemmSpec{.m = m, .n = n, .k = k, .batches = units, .a = a, .b = b, .c = c, .tf32 = tf32_},
          chunks_.scratch);
    };
    add(block.queries, block.keys, shape_.size, operand(shape_.q, false), operand(shape_.k, true),
        scores);
    if (!grad_) {
      add(block.queries, shape_.value_size, block.keys, scores, operand(shape_.v, false),
          operand(shape_.y, false));
      continue;
    }
    add(block.queries, block.keys, shape_.value_size, operand(shape_.y, false),
        operand(shape_.v, true), scores);
    add(block.keys, shape_.value_size, block.queries, scores_across, operand(shape_.y, false),
        operand(shape_.v, false));
    add(block.queries, shape_.size, block.keys, scores, operand(shape_.k, false),
        operand(shape_.q, false));
    add(block.keys, shape_.size, block.queries, scores_across, operand(shape_.q, false),
        operand(shape_.k, false));
  }
  // The last queries see all keys, so that their gradients begin the sums by keys.
  std::reverse(blocks.begin(), blocks.end());
  return blocks;
}

void ChunkedAttention::run(cublasLtHandle_t blas, const AttentionArrays& arrays, void* workspace,
                           cudaStream_t stream) const {
  SideStream::Fork side(chunks_.lanes > 1 ? Libraries::current()->beside(stream) : nullptr, stream);
  const std::int64_t others = chunks_.of_batches ? shape_.heads : shape_.batches;
  const std::int64_t parts = (across() + chunks_.units - 1) / chunks_.units;
  for (std::int64_t other = 0; other < others; ++other) {
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t lane = (other / shape_.group * parts + part) % chunks_.lanes;
      run_chunk(
          blas, arrays, other, part * chunks_.units,
          static_cast<std::byte*>(workspace) + lane * static_cast<std::int64_t>(chunks_.lane()),
          lane == 0 ? stream : side.stream());
    }
  }
  side.join();
}

void ChunkedAttention::run_chunk(cublasLtHandle_t blas, const AttentionArrays& arrays,
                                 std::int64_t other, std::int64_t unit, std::byte* scores,
                                 cudaStream_t stream) const {
  const auto size = static_cast<std::int64_t>(dtype_size(dtype_));
  std::byte* gradients = scores + chunks_.scores;
  void* scratch = gradients + chunks_.gradients;
  const std::int64_t units = std::min(chunks_.units, across() - unit);
  const std::int64_t batch = chunks_.of_batches ? unit : other;
  const std::int64_t head = chunks_.of_batches ? other : unit;
  const std::int64_t key_head = head / shape_.group;
  for (const Block& block : units == chunks_.units ? main_ : rest_) {
    const auto at = [&](auto* array, const AttentionLayout& layout, std::int64_t own,
                        std::int64_t token) {
      using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(array)>>,
                                      const std::byte, std::byte>;
      return static_cast<Byte*>(array) +
             (layout.start + batch * layout.batch + own * layout.head + token * layout.row) * size;
    };
    const std::int64_t sums = (batch * shape_.heads + head) * shape_.queries + block.first;
    const ScoreRows rows{
        .units = units,
        .queries = block.queries,
        .columns = block.keys,
        .stride = chunks_.stride,
        .step = chunks_.queries * chunks_.stride,
        .seen = shape_.seen(block.first),
        .causal = shape_.causal,
        .scale = shape_.scale,
        .log_sums_step = chunks_.of_batches ? shape_.heads * shape_.queries : shape_.queries,
        .mask = arrays.mask,
        .keys = shape_.keys,
        .mask_batches = std::max<std::int64_t>(1, shape_.mask_batches),
        .batch = batch,
        .batch_step = chunks_.of_batches ? 1 : 0};
    const void* q = at(arrays.q, shape_.q, head, block.first);
    const void* k = at(arrays.k, shape_.k, key_head, 0);
    const void* v = at(arrays.v, shape_.v, key_head, 0);
    auto* log_sums = static_cast<std::byte*>(arrays.log_sums) + sums * size;
    block.products[kScores].run(blas, stream, q, k, scores, nullptr, scratch);
    if (!grad_) {
      softmax_scores(scores, log_sums, rows, dtype_, stream);
      block.products[kResult].run(blas, stream, scores, v,
                                  at(arrays.y, shape_.y, head, block.first), nullptr, scratch);
      continue;
    }
    const void* dy = at(arrays.dy, shape_.y, head, block.first);
    const void* d_log_sums = arrays.d_log_sums == nullptr
                                 ? nullptr
                                 : static_cast<const std::byte*>(arrays.d_log_sums) + sums * size;
    block.products[kWeightsGrad].run(blas, stream, dy, v, gradients, nullptr, scratch);
    const void* y = at(arrays.y, shape_.y, head, block.first);
    softmax_scores_grad(scores, gradients, log_sums, d_log_sums,
                        {.y = y,
                         .dy = dy,
                         .size = shape_.value_size,
                         .row = shape_.y.row,
                         .step = step_of(shape_.y)},
                        rows, dtype_, stream);
    // Queries before this one's and other heads that read the same keys have begun their sums.
    const bool begun = block.first + block.queries < shape_.queries || head % shape_.group != 0;
    block.products[kValuesGrad].run(blas, stream, scores, dy, at(arrays.dv, shape_.v, key_head, 0),
                                    nullptr, scratch, begun);
    block.products[kQueriesGrad].run(blas, stream, gradients, k,
                                     at(arrays.dq, shape_.q, head, block.first), nullptr, scratch);
    block.products[kKeysGrad].run(blas, stream, gradients, q, at(arrays.dk, shape_.k, key_head, 0),
                                  nullptr, scratch, begun);
  }
}

}  // namespace plimsoll::cuda

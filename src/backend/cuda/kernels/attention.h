#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <optional>
#include <string>

#include <plimsoll/ops/attention_shape.h>

// Attention and its gradient, four times: by our own plain kernels, which take everything, by our
// own for few tokens, by cuDNN, and by matrix products (attention_chunked.h).

namespace plimsoll::cuda {

/// The arrays that the layouts of the shape are in. What a pass does not have is null.
struct AttentionArrays {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  void* y = nullptr;
  void* log_sums = nullptr;
  const bool* mask = nullptr;  ///< of keys, a row for ops::AttentionShape::mask_batches batches
  const void* dy = nullptr;
  const void* d_log_sums = nullptr;
  void* dq = nullptr;
  void* dk = nullptr;
  void* dv = nullptr;
  /// How many tokens of each batch count, as std::int32_t; for what is masked.
  const void* query_lengths = nullptr;
  const void* key_lengths = nullptr;
};

void plain_attention(const ops::AttentionShape& shape, DType dtype, const AttentionArrays& arrays,
                     cudaStream_t stream);
/// `workspace` of ops::plain_attention_grad_workspace bytes.
void plain_attention_grad(const ops::AttentionShape& shape, DType dtype,
                          const AttentionArrays& arrays, void* workspace, cudaStream_t stream);

/// Whether the current device has what these two need. They are for what ops::short_attention says.
bool short_attention_fits(const ops::AttentionShape& shape);
void short_attention(const ops::AttentionShape& shape, DType dtype, const AttentionArrays& arrays,
                     cudaStream_t stream);
void short_attention_grad(const ops::AttentionShape& shape, DType dtype,
                          const AttentionArrays& arrays, cudaStream_t stream);

/// cuDNN's, prepared for a shape.
struct FusedAttention {
  ops::AttentionShape shape;
  DType dtype = DType::bf16;
  bool grad = false;
  bool masked = false;       ///< the arrays have lengths, and tokens beyond them do not count
  std::int64_t batches = 1;  ///< at a time
  std::string key;           ///< of its plan in Libraries
  Bytes workspace = 0;
};

/// `wanted` with its plan's key and workspace. Nothing where cuDNN is not there, does not take the
/// shape on the current device, or wants more than `limit` bytes of workspace for as many batches
/// at a time. Deterministic algorithms only.
std::optional<FusedAttention> fuse_attention(FusedAttention wanted, Bytes limit);
void run_fused_attention(const FusedAttention& fused, const AttentionArrays& arrays,
                         void* workspace, cudaStream_t stream);

/// The gradient of `shape` by `fused`, on copies to which tokens are added up to whole blocks: see
/// ops::fused_attention_grad_shape, with ops::kMarks columns or none. `workspace` has the copies'
/// ops::attention_copies first, then fused.workspace bytes.
void run_fused_attention_on_copies(const ops::AttentionShape& shape, const FusedAttention& fused,
                                   const AttentionArrays& arrays, void* workspace,
                                   cudaStream_t stream);

}  // namespace plimsoll::cuda

#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <optional>
#include <string>

#include "ops/attention_shape.h"

// Attention and its gradient, three times: by our own plain kernels, which take everything, by our
// own for few tokens, and by cuDNN.

namespace plimsoll::cuda {

/// The arrays that the layouts of the shape are in. What a pass does not have is null.
struct AttentionArrays {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  void* y = nullptr;
  void* log_sums = nullptr;
  const void* dy = nullptr;
  const void* d_log_sums = nullptr;
  void* dq = nullptr;
  void* dk = nullptr;
  void* dv = nullptr;
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
  std::int64_t batches = 1;  ///< at a time
  std::string key;           ///< of its plan in Libraries
  Bytes workspace = 0;
};

/// Nothing where cuDNN is not there, does not take the shape on the current device, or wants more
/// than `limit` bytes of workspace for `batches` at a time. Deterministic algorithms only.
std::optional<FusedAttention> fuse_attention(const ops::AttentionShape& shape, DType dtype,
                                             bool grad, std::int64_t batches, Bytes limit);
void run_fused_attention(const FusedAttention& fused, const AttentionArrays& arrays,
                         void* workspace, cudaStream_t stream);

}  // namespace plimsoll::cuda

#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <optional>
#include <string>

#include <plimsoll/ops/convolution_route.h>

// The three passes of a convolution, each an op: out of the picture x, the weight w and the result
// y, two are given and the third is computed. By cuDNN, by our own kernels for depthwise ones, or
// by our own plain kernels, which take everything.

namespace plimsoll::cuda {

using ops::ConvPass;

struct ConvSpec {
  ops::ConvShape shape;
  ConvPass pass = ConvPass::forward;
  DType dtype = DType::f32;
  bool bias = false;  ///< forward only
  bool tf32 = false;  ///< f32 pictures and weights may be rounded to TF32
};

struct ConvArrays {
  void* x = nullptr;
  void* w = nullptr;
  void* y = nullptr;
  const void* bias = nullptr;
};

/// Needs no workspace.
void plain_conv(const ConvSpec& spec, const ConvArrays& arrays, cudaStream_t stream);

/// Depthwise, channels last. The workspace is that of its route.
void depthwise_conv(const ConvSpec& spec, const ConvArrays& arrays, void* workspace,
                    cudaStream_t stream);

/// sums = part where `first`, else sums += part; f32 sums of `elements`.
void add_part(DType dtype, float* sums, const void* part, std::int64_t elements, bool first,
              cudaStream_t stream);
/// The sums rounded to the dtype.
void round_sums(DType dtype, void* to, const float* sums, std::int64_t elements,
                cudaStream_t stream);

/// y += bias, by channel.
void add_conv_bias(const ConvSpec& spec, void* y, const void* bias, cudaStream_t stream);

/// A weight [out, in, height, width] to [out, height, width, in], or back.
void reorder_weight(const ConvSpec& spec, const void* from, void* to, bool back,
                    cudaStream_t stream);

/// cuDNN's, prepared for a spec. Pictures are where the ops have them; the weight is, too, unless
/// pictures are NHWC: then it is [out, height, width, in].
struct FusedConv {
  ConvSpec spec;
  std::string key;  ///< of its plan in Libraries
  Bytes workspace = 0;
};

/// Nothing where cuDNN is not there or has no deterministic algorithm that computes in f32 within
/// `limit` bytes of workspace.
std::optional<FusedConv> fuse_conv(const ConvSpec& spec, Bytes limit);
void run_fused_conv(const FusedConv& fused, const ConvArrays& arrays, void* workspace,
                    cudaStream_t stream);

}  // namespace plimsoll::cuda

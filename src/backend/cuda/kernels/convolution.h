#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <plimsoll/ops/convolution_route.h>

#include "backend/cuda/libraries/plan_bounds.h"
#include "backend/cuda/libraries/product.h"

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

/// A weight [out, in, height, width] to rows of `columns`, [out, (height, width, in) and zeros], or
/// back.
void weight_to_rows(const ConvSpec& spec, std::int64_t columns, const void* from, void* to,
                    bool back, cudaStream_t stream);

/// The windows of `pictures` x, channels last: [pixels of the result, (height, width, in)] in rows
/// of `width`, zeros outside and behind.
void to_columns(const ConvSpec& spec, std::int64_t pictures, std::int64_t width, const void* x,
                void* columns, cudaStream_t stream);
/// x as the sums of all windows that its pixels are in, in order; in f32, rows without zeros.
void from_columns(const ConvSpec& spec, std::int64_t pictures, const float* columns, float* x,
                  cudaStream_t stream);

/// By products over columns (ConvKernel::products).
class ConvProducts {
 public:
  explicit ConvProducts(const ConvSpec& spec);
  Bytes workspace() const { return workspace_; }
  void run(const ConvArrays& arrays, void* workspace, cudaStream_t stream) const;

 private:
  struct Part {
    std::int64_t pictures = 0;
    std::size_t product = 0;
  };
  ConvSpec spec_;
  ops::ConvRoute route_;
  std::int64_t width_ = 0;  ///< of a row of columns
  std::vector<Part> parts_;
  std::vector<Product> products_;  ///< of parts of different sizes
  Bytes workspace_ = 0;
};

/// cuDNN's, prepared for a spec. Pictures are where the ops have them; the weight is, too, unless
/// pictures are NHWC: then it is [out, height, width, in].
struct FusedConv {
  ConvSpec spec;
  std::string key;  ///< of its plan in Libraries
  PlanBounds bounds{0};
  Bytes workspace = 0;
};

/// Nothing where cuDNN is not there or has no deterministic algorithm that computes in f32 within
/// `bounds`.
std::optional<FusedConv> fuse_conv(const ConvSpec& spec, const PlanBounds& bounds);
void run_fused_conv(const FusedConv& fused, const ConvArrays& arrays, void* workspace,
                    cudaStream_t stream);

}  // namespace plimsoll::cuda

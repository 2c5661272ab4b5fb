#pragma once

#include <memory>

#include <plimsoll/ops/convolution_shape.h>

#include "backend/cpu/kernels.h"

// The three passes of a convolution, each an op: out of the picture x, the weight w and the result
// y, two are given and the third is computed.

namespace plimsoll::cpu {

enum class ConvPass : std::uint8_t { forward, by_input, by_weight };

struct ConvSpec {
  ops::ConvShape shape;
  ConvPass pass = ConvPass::forward;
  DType dtype = DType::f32;
  bool bias = false;  ///< forward only
};

struct ConvArguments {
  void* x = nullptr;
  void* w = nullptr;
  void* y = nullptr;
  const void* bias = nullptr;
  void* workspace = nullptr;
};

/// A convolution by oneDNN, prepared once for a number of threads. Does not change.
class OnednnConv {
 public:
  virtual ~OnednnConv() = default;
  virtual Bytes workspace() const = 0;
  virtual void run(const ConvArguments& arguments) const = 0;
};

/// Null if oneDNN is not there or has nothing better than a plain loop.
std::unique_ptr<const OnednnConv> make_onednn_conv(const ConvSpec& spec, int threads);

/// One picture and group at a time: its windows as columns of a matrix, then a matrix product.
Bytes plain_conv_workspace(const ConvSpec& spec);
void plain_conv(const ConvSpec& spec, const ConvArguments& arguments);

}  // namespace plimsoll::cpu

#pragma once

#include <cstdint>
#include <variant>

#include <plimsoll/ops/attention_shape.h>
#include <plimsoll/ops/convolution_route.h>
#include <plimsoll/ops/product_shape.h>

// What an op asks of a GPU's libraries, for those whose time is not that of their arithmetic and
// their traffic alone.

namespace plimsoll::ops {

struct AttentionWork {
  AttentionShape shape;
  bool gradient = false;
};

struct ConvWork {
  ConvShape shape;
  ConvPass pass = ConvPass::forward;
  DType dtype = DType::f32;
  bool tf32 = false;
};

/// A linear layer and the cross-entropy of its results: x [tokens, features], the weight
/// [classes, features].
struct HeadWork {
  std::int64_t tokens = 0;
  std::int64_t features = 0;
  std::int64_t classes = 0;
  DType dtype = DType::f32;
  bool tf32 = false;
  bool with_dx = false;
  bool with_dweight = false;
};

struct ScanBody;
/// The ops of a body, one after the other in each step.
struct ScanWork {
  const ScanBody* body = nullptr;
  std::int64_t steps = 0;
};

/// See OpDef::gpu_work.
struct GpuWork {
  std::variant<Products, AttentionWork, HeadWork, ConvWork, ScanWork> what;
};

}  // namespace plimsoll::ops

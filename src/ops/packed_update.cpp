// A step of Adam whose moments are kept in 8 bits.
#include <plimsoll/ops/packed_update.h>

#include <array>

#include "ops/update_inputs.h"

namespace plimsoll::ops {
namespace {

constexpr int kMoments = 4;
constexpr int kPackedGradient = kMoments + 1;

/// Inputs: the parameter, its four states, its gradient, the rate, the step and, where it is given,
/// the bool scalar without which nothing is written.
std::vector<TensorType> packed_types(const OpInputs& inputs) {
  std::vector<TensorType> written = packed_moments(inputs[0]);
  for (int i = 0; i < kMoments; ++i) {
    if (inputs[i + 1] != written[static_cast<std::size_t>(i)]) {
      inputs.fail("the moments must be i8 and u8 in blocks of 256, each with an f32 scale");
    }
  }
  if (inputs.shape(kPackedGradient) != inputs.shape(0)) {
    inputs.fail("the gradient must have the parameter's shape");
  }
  require_gradient_dtype(inputs, kPackedGradient);
  require_scalars(inputs, kPackedGradient + 1, 2);
  written.insert(written.begin(), inputs[0]);
  return written;
}

Cost packed_cost(const OpInputs& inputs, std::span<const TensorType> outputs) {
  constexpr double kFlopsEach = 60;
  double bytes = static_cast<double>(inputs[kPackedGradient].bytes());
  for (const TensorType& written : outputs) bytes += 2 * static_cast<double>(written.bytes());
  return {.flops = kFlopsEach * static_cast<double>(inputs[0].elements()), .bytes = bytes};
}

constexpr OpDef kAdam8bit = {
    .name = "adam_8bit_update",
    .family = "update",
    .summary = "a step of Adam or AdamW with moments of 8 bits",
    .inputs = 4 + kMoments,
    .optional_inputs = 1,
    .dtypes = kMasters,
    .types = packed_types,
    .cost = packed_cost,
    .writes = (2U << kMoments) - 1,
    .precision = Precision::keep,
    .update = true,
};

constexpr std::array kPackedUpdateOps = {&kAdam8bit};
const RegisterOps kPackedUpdateRegistered(kPackedUpdateOps);

}  // namespace

std::vector<TensorType> packed_moments(const TensorType& parameter) {
  const std::int64_t blocks = (parameter.elements() + kMomentBlock - 1) / kMomentBlock;
  const Shape numbers{blocks, kMomentBlock};
  const Shape scales{blocks, 1};
  return {{DType::i8, numbers}, {DType::f32, scales}, {DType::u8, numbers}, {DType::f32, scales}};
}

void adam_8bit_update(const Tensor& parameter, const Tensor& first, const Tensor& first_scale,
                      const Tensor& second, const Tensor& second_scale, const Tensor& gradient,
                      const Tensor& rate, const Tensor& step, const AdamOptions& options,
                      const Tensor& enable) {
  run_update(kAdam8bit,
             {parameter, first, first_scale, second, second_scale, gradient, rate, step, enable},
             attributes_of(options));
}

}  // namespace plimsoll::ops

// A Gaussian over a picture that is reflected at its edges, as torchvision v2 does it.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "data/program/colours.h"
#include "data/program/picture.h"

namespace plimsoll::data::program_ops {
namespace {

std::vector<TensorSpec> blur_specs(const SpecInputs& inputs) {
  inputs.require_picture(0);
  const std::int64_t size = inputs.require_positive("size");
  if (size % 2 == 0 || size > 255) {
    inputs.fail(fmt::format("size is {}; give an odd number up to 255", size));
  }
  return {inputs[0]};
}

std::vector<float> kernel_of(std::int64_t size, double sigma) {
  std::vector<double> weights;
  double total = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const double x = (static_cast<double>(i) - static_cast<double>(size - 1) / 2) / sigma;
    weights.push_back(std::exp(-x * x / 2));
    total += weights.back();
  }
  std::vector<float> kernel;
  for (const double weight : weights) kernel.push_back(static_cast<float>(weight / total));
  return kernel;
}

/// Without the edge itself, as often as it takes.
int reflected(int at, int size) {
  if (size == 1) return 0;
  const int period = 2 * (size - 1);
  at = std::abs(at) % period;
  return at < size ? at : period - at;
}

/// out[line][i] = the kernel over in[line], whose elements lie `step` apart.
void blur_lines(float* out, const float* in, int lines, std::int64_t line_step, int size,
                std::int64_t step, int channels, const std::vector<float>& kernel) {
  const int reach = static_cast<int>(kernel.size()) / 2;
  for (int line = 0; line < lines; ++line) {
    for (int i = 0; i < size; ++i) {
      for (int c = 0; c < channels; ++c) {
        float sum = 0;
        for (int k = -reach; k <= reach; ++k) {
          sum += kernel[static_cast<std::size_t>(k + reach)] *
                 in[line * line_step + reflected(i + k, size) * step + c];
        }
        out[line * line_step + i * step + c] = sum;
      }
    }
  }
}

void blur(ProgramCall& call, double sigma) {
  const ProgramInput& from = call.input(0);
  const image::Extent e = extent_of(from.shape());
  const std::vector<float> kernel = kernel_of(call.attributes().integer("size"), sigma);
  Tensor to = call.output(from.shape(), from.dtype());
  FloatPicture picture(from, call.context().scratch(), to);
  Tensor between = call.context().empty(from.shape(), DType::f32);
  const std::int64_t row = std::int64_t{e.width} * e.channels;
  blur_lines(between.mutable_data<float>(), picture.data(), e.height, row, e.width, e.channels,
             e.channels, kernel);
  blur_lines(picture.data(), between.data<float>(), e.width, e.channels, e.height, row, e.channels,
             kernel);
  picture.write(to, true);
}

}  // namespace

std::span<const ProgramOp> blur() {
  static constexpr ProgramOp kOps[] = {
      {.name = "gaussian_blur",
       .summary = "a Gaussian over an image",
       .specs =
           [](const SpecInputs& inputs) {
             const double sigma = inputs.attributes().number("sigma");
             if (!(sigma > 0)) inputs.fail(fmt::format("sigma is {}; give more than 0", sigma));
             return blur_specs(inputs);
           },
       .run = [](ProgramCall& call) { blur(call, call.attributes().number("sigma")); }},
      {.name = "random_blur",
       .summary = "a Gaussian with a deviation drawn from a range",
       .random = true,
       .specs =
           [](const SpecInputs& inputs) {
             const double low = inputs.attributes().number("low");
             const double high = inputs.attributes().number("high");
             if (!(low > 0 && low <= high)) {
               inputs.fail(
                   fmt::format("deviations from {} to {}; give 0 < low <= high", low, high));
             }
             return blur_specs(inputs);
           },
       .run =
           [](ProgramCall& call) {
             const double low = call.attributes().number("low");
             const double high = call.attributes().number("high");
             const double unit = static_cast<double>(call.random()[0]) / 4294967296.0;
             blur(call, low + (high - low) * unit);
           }},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops

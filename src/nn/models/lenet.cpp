#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/basic.h>
#include <plimsoll/nn/convolution.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/ops/elementwise.h>

namespace plimsoll::nn {
namespace {

std::int64_t checked(const LenetOptions& options) {
  if (options.size < 4) {
    throw InvalidArgument(
        fmt::format("[lenet] images of {0}x{0} are too small; use 4x4 or more", options.size));
  }
  return options.size < 12 ? 2 : 0;
}

/// What is left after both poolings.
std::int64_t features(const LenetOptions& options, std::int64_t padding) {
  const std::int64_t side = (options.size / 2 + 2 * padding - 4) / 2;
  return 16 * side * side;
}

class Lenet final : public Classifier {
 public:
  explicit Lenet(const LenetOptions& options)
      : options_(options),
        padding_(checked(options)),
        conv1_(add("conv1", Conv2D(6, 5,
                                   {.in = options.channels,
                                    .padding = 2,
                                    .init = Init::he_normal(options.channels * 25)}))),
        conv2_(add("conv2",
                   Conv2D(16, 5, {.in = 6, .padding = padding_, .init = Init::he_normal(6 * 25)}))),
        fc1_(add("fc1", Dense(120, {.in = features(options, padding_),
                                    .init = Init::he_normal(features(options, padding_))}))),
        fc2_(add("fc2", Dense(84, {.in = 120, .init = Init::he_normal(120)}))),
        fc3_(add("fc3", Dense(options.classes, {.in = 84}))) {}

  TensorType input_type(std::int64_t n) const override {
    return {DType::f32, {n, options_.channels, options_.size, options_.size}};
  }
  TensorType target_type(std::int64_t n) const override { return {DType::i64, {n}}; }

  Tensor forward(const Tensor& x) const override {
    // relu after pooling: the same values for a quarter of the work and the memory.
    Tensor y = ops::relu(ops::max_pool2d(conv1_(x)));
    y = ops::relu(ops::max_pool2d(conv2_(y)));
    y = ops::relu(fc1_(flatten_.forward(y)));
    return fc3_(ops::relu(fc2_(y)));
  }

 private:
  LenetOptions options_;
  std::int64_t padding_;
  Conv2D conv1_;
  Conv2D conv2_;
  Flatten flatten_;
  Dense fc1_;
  Dense fc2_;
  Dense fc3_;
};

}  // namespace

Model lenet(const LenetOptions& options) { return Lenet(options); }

}  // namespace plimsoll::nn

#include <fmt/format.h>

#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::nn {
namespace {

class Mlp final : public Classifier {
 public:
  explicit Mlp(const MlpOptions& options) : in_(options.in) {
    std::int64_t from = options.in;
    const auto append = [&](std::int64_t to, const Init& init) {
      layers_.push_back(
          add(fmt::format("fc{}", layers_.size() + 1), Dense(to, {.in = from, .init = init})));
      from = to;
    };
    for (const std::int64_t to : options.hidden) append(to, Init::he_normal(from));
    append(options.classes, Init::fan_in_uniform(from));
  }

  TensorType input_type(std::int64_t n) const override { return {DType::f32, {n, in_}}; }
  TensorType target_type(std::int64_t n) const override { return {DType::i64, {n}}; }

  Tensor forward(const Tensor& x) const override {
    Tensor y = x.rank() == 2 ? x : ops::reshape(x, Shape{x.dim(0), in_});
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      y = layers_[i](y);
      if (i + 1 < layers_.size()) y = ops::relu(y);
    }
    return y;
  }

 private:
  std::int64_t in_;
  std::vector<Dense> layers_;
};

}  // namespace

Model mlp(const MlpOptions& options) { return Mlp(options); }

}  // namespace plimsoll::nn

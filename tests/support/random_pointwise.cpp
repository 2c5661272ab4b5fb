#include "support/random_pointwise.h"

#include <array>
#include <random>
#include <string>
#include <string_view>

#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>

#include "support/op_checks.h"

namespace plimsoll::test {
namespace {

using ops::call_one;
using ops::find_op;

constexpr auto kUnary = std::to_array<std::string_view>(
    {"neg", "abs", "sign", "square", "scale", "shift", "clip", "erf", "floor", "round", "sin",
     "cos", "relu", "elu", "sigmoid", "tanh", "silu", "softplus", "gelu"});
/// Of positive numbers.
constexpr auto kPositive =
    std::to_array<std::string_view>({"sqrt", "rsqrt", "reciprocal", "log", "log1p"});
constexpr auto kBinary =
    std::to_array<std::string_view>({"add", "sub", "mul", "maximum", "minimum", "div"});
constexpr auto kGradients = std::to_array<std::string_view>(
    {"abs_grad", "square_grad", "clip_grad", "erf_grad", "sin_grad", "cos_grad", "relu_grad",
     "elu_grad", "sigmoid_grad", "tanh_grad", "silu_grad", "softplus_grad", "gelu_grad",
     "log1p_grad", "sqrt_grad", "rsqrt_grad", "reciprocal_grad"});
constexpr auto kComparisons =
    std::to_array<std::string_view>({"equal", "not_equal", "less", "less_equal"});
constexpr auto kCasts =
    std::to_array<DType>({DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32, DType::i64,
                          DType::i16, DType::u8, DType::boolean});

class Maker {
 public:
  Maker(std::uint64_t seed, const Shape& shape, DType dtype)
      : random_(seed), shape_(shape), dtype_(dtype) {}

  Tensor unary(const Tensor& x) {
    const std::string_view name = pick(kUnary);
    return call_one(*find_op(name), {x}, numbers(name));
  }
  Tensor positive(const Tensor& x) {
    return call_one(*find_op(pick(kPositive)), {ops::shift(ops::abs(x), 0.25)});
  }
  Tensor binary(const Tensor& x, const Tensor& y) {
    const std::string_view name = pick(kBinary);
    const Tensor by = name == "div" ? ops::shift(ops::square(y), 0.5) : y;
    return call_one(*find_op(name), {x, by});
  }
  Tensor power(const Tensor& x, const Tensor& y) {
    return ops::pow(ops::shift(ops::abs(ops::tanh(x)), 0.1), ops::tanh(y));
  }
  Tensor gradient(const Tensor& dy, const Tensor& x) {
    const std::string_view name = pick(kGradients);
    const bool needs_positive = name == "log1p_grad" || name == "sqrt_grad" ||
                                name == "rsqrt_grad" || name == "reciprocal_grad";
    return call_one(*find_op(name), {dy, needs_positive ? ops::shift(ops::abs(x), 0.25) : x},
                    numbers(name));
  }
  Tensor ternary(const Tensor& a, const Tensor& b, const Tensor& c) {
    switch (below(3)) {
      case 0:
        return call_one(*find_op("div_grad"), {a, b, ops::shift(ops::square(c), 0.5)});
      case 1:
        return call_one(*find_op("maximum_grad"), {a, b, c}, {{"second", below(2) == 0}});
      default:
        return call_one(*find_op("minimum_grad"), {a, b, c}, {{"second", below(2) == 0}});
    }
  }
  Tensor choice(const Tensor& a, const Tensor& b) {
    Tensor which = call_one(*find_op(pick(kComparisons)), {a, b});
    if (below(2) == 0) {
      which = call_one(*find_op(below(2) == 0 ? "logical_and" : "logical_or"),
                       {which, call_one(*find_op("is_finite"), {b})});
    }
    if (below(3) == 0) which = call_one(*find_op("logical_not"), {which});
    return call_one(*find_op("where"), {which, a, b});
  }
  /// There and back, with some integers in between.
  Tensor casts(const Tensor& x) {
    const DType by = pick(kCasts);
    Tensor y = ops::cast(ops::scale(x, 3), by);
    if (is_integer(by)) {
      y = ops::shift(ops::mul(y, y), 3);
      if (below(2) == 0) y = ops::clip(y, 1, 90);
      if (below(2) == 0) y = ops::div(y, ops::abs(ops::shift(y, -7)));
    }
    return ops::scale(ops::cast(y, dtype_), 0.125);
  }

  /// Keeps numbers within bounds, so that later ops have something to compute.
  Tensor bounded(const Tensor& x) { return below(4) == 0 ? ops::clip(x, -8, 8) : x; }

  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

  /// One of the ways to be an input: whole, a scalar, a row, a column, or the tail of the shape.
  Shape input_shape() {
    const int rank = shape_.rank();
    switch (below(6)) {
      case 0:
        return Shape{};
      case 1:
        return Shape{shape_.dim(-1)};
      case 2: {
        Shape column = shape_;
        return column.with_dim(rank - 1, 1);
      }
      case 3:
        return rank > 2 ? shape_.with_removed(0) : shape_;
      default:
        return shape_;
    }
  }

 private:
  template <typename T, std::size_t N>
  const T& pick(const std::array<T, N>& list) {
    return list[static_cast<std::size_t>(below(static_cast<int>(N)))];
  }
  double number() { return std::uniform_real_distribution<double>(0.25, 2)(random_); }

  ops::Attributes numbers(std::string_view name) {
    if (name == "scale") return {{"factor", number() * (below(2) == 0 ? 1 : -1)}};
    if (name == "shift") return {{"offset", number() - 1}};
    if (name.starts_with("clip")) return {{"low", -number()}, {"high", number()}};
    if (name.starts_with("elu")) return {{"alpha", number()}};
    if (name.starts_with("gelu")) return {{"tanh", below(2) == 0}};
    return {};
  }

  std::mt19937_64 random_;
  Shape shape_;
  DType dtype_;
};

}  // namespace

RandomPointwise::RandomPointwise(std::uint64_t seed, const Shape& shape, DType dtype, int ops) {
  Maker make(seed, shape, dtype);
  graph::Tracer tracer;
  std::vector<Tensor> values;
  const int inputs = 2 + make.below(4);
  for (int i = 0; i < inputs; ++i) {
    const Shape of = i == 0 ? shape : make.input_shape();
    feeds.push_back(random_tensor(of, seed * 100 + static_cast<std::uint64_t>(i), dtype));
    values.push_back(tracer.input("x" + std::to_string(i), {dtype, of}));
  }
  const ops::DispatchScope scope(tracer);
  const auto any = [&] {
    return values[static_cast<std::size_t>(make.below(static_cast<int>(values.size())))];
  };
  const auto whole = [&] {
    Tensor value = any();
    // What gradients take has the shape of what they give.
    return value.shape() == shape ? value : ops::add(value, values[0]);
  };
  for (int i = 0; i < ops; ++i) {
    Tensor next;
    switch (make.below(10)) {
      case 0:
      case 1:
        next = make.unary(any());
        break;
      case 2:
        next = make.positive(any());
        break;
      case 3:
        next = make.power(any(), any());
        break;
      case 4:
        next = make.gradient(whole(), whole());
        break;
      case 5:
        next = make.ternary(whole(), whole(), any());
        break;
      case 6:
        next = make.choice(any(), any());
        break;
      case 7:
        next = make.casts(any());
        break;
      default:
        next = make.binary(any(), any());
    }
    values.push_back(make.bounded(next));
  }
  tracer.output(values.back());
  tracer.output(any());
  for (const Tensor& value : values) {
    if (make.below(8) == 0) tracer.output(value);
  }
  graph = std::make_shared<graph::Graph>(tracer.finish());
}

}  // namespace plimsoll::test

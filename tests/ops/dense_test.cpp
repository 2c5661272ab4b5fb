// Products, convolutions, pools and attention: messages, and gradients in every dtype.
#include <cmath>
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/convolution.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/softmax.h>
#include <plimsoll/ops/tape.h>

#include "backend/cpu/row_math.h"
#include "support/op_cases.h"

namespace plimsoll {
namespace {

using test::as_doubles;
using test::from_doubles;

Tensor zero_tensor(const Shape& shape, DType dtype = DType::f32) {
  return Tensor::zeros(shape, dtype, test::op_cases_device());
}

Tensor normal(const Shape& shape, DType dtype, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> draw;
  std::vector<double> values(static_cast<std::size_t>(shape.elements()));
  for (double& value : values) value = draw(generator);
  // The same values in all dtypes.
  return from_doubles(as_doubles(from_doubles(values, shape, DType::bf16)), shape, dtype);
}

/// Expects an InvalidArgument whose message holds `part`.
void expect_message(const std::function<void()>& run, const std::string& part) {
  try {
    run();
    ADD_FAILURE() << "nothing thrown; expected: " << part;
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Linear, NamesWhatDoesNotFit) {
  expect_message(
      [] {
        ops::linear(zero_tensor({2, 3}), zero_tensor({4, 5}));
      },
      "[linear] x has 3 features, the weight [out,in] takes 5 (f32 [2,3], f32 [4,5])");
  expect_message(
      [] {
        ops::linear(zero_tensor({2, 5}), zero_tensor({4, 5}), zero_tensor({5}));
      },
      "[linear] the bias must be [4]");
  expect_message(
      [] {
        ops::linear(zero_tensor({}), zero_tensor({4, 5}));
      },
      "at least one dimension");
  expect_message(
      [] {
        ops::linear(zero_tensor({2, 5}), zero_tensor({4, 5}, DType::f64));
      },
      "different dtypes; cast one of them");
}

TEST(Conv2d, NamesWhatDoesNotFit) {
  const auto conv = [](const Shape& x, const Shape& w, const ops::ConvOptions& options = {}) {
    return [=] { ops::conv2d(zero_tensor(x), zero_tensor(w), {}, options); };
  };
  expect_message(conv({2, 3, 8, 8}, {4, 5, 3, 3}),
                 "[conv2d] the images have 3 channels, and the weight takes 5");
  expect_message(conv({2, 3, 8, 8}, {4, 1, 3, 3}, {.groups = 2}),
                 "[conv2d] 2 groups do not divide 3 and 4 channels");
  expect_message(conv({2, 3, 2, 8}, {4, 3, 3, 3}),
                 "[conv2d] the window has a height of 3, the padded image only 2");
  expect_message(conv({2, 3, 8, 8}, {4, 3, 3, 3}, {.stride = {0, 1}}), "strides must be");
  expect_message(conv({2, 3, 8, 8}, {4, 3, 3, 3}, {.padding = {-1, 0, 0, 0}}), "negative");
  expect_message(conv({2, 3, 8, 8}, {4, 3, 3, 3}, {.dilation = {1, 0}}), "dilation must be");
  expect_message(conv({3, 8, 8}, {4, 3, 3, 3}), "a batch of images must have 4 dimensions");
  expect_message(
      [] {
        ops::conv2d_transpose(zero_tensor({1, 4, 5, 5}), zero_tensor({4, 3, 3, 3}), {1, 3, 8, 8});
      },
      "[conv2d_transpose] a convolution of [1,3,8,8] gives [1,4,6,6], not [1,4,5,5]");
}

TEST(Pools, NameWhatDoesNotFit) {
  expect_message(
      [] {
        ops::max_pool2d(zero_tensor({1, 1, 4, 4}), {.padding = {2, 0, 0, 0}});
      },
      "[max_pool2d] padding must be smaller than the window");
  expect_message(
      [] {
        ops::avg_pool2d(zero_tensor({1, 1, 1, 4}));
      },
      "[avg_pool2d] the window has a height of 2, the padded image only 1");
  expect_message([] { ops::global_avg_pool2d(zero_tensor({1, 2, 0, 4})); }, "has no pixels");
  expect_message([] { ops::upsample_nearest2d(zero_tensor({1, 2, 3, 4}), 0); }, "at least 1");
}

TEST(MaxPool, KeepsIndicesAndNotItsInput) {
  const ops::Kept kept = ops::find_op("max_pool2d")->kept(1);
  EXPECT_EQ(kept.inputs, 0U);
  EXPECT_EQ(kept.outputs, 2U);
  const auto outputs =
      ops::call(*ops::find_op("max_pool2d"), std::vector<Tensor>{zero_tensor({1, 1, 4, 4})},
                {{"size", std::vector<std::int64_t>{2, 2}},
                 {"stride", std::vector<std::int64_t>{2, 2}},
                 {"padding", std::vector<std::int64_t>{0, 0, 0, 0}},
                 {"nhwc", false}});
  EXPECT_EQ(outputs[1].dtype(), DType::u8);
}

TEST(Attention, NamesWhatDoesNotFit) {
  expect_message(
      [] {
        ops::attention(zero_tensor({2, 3, 4}), zero_tensor({2, 3, 5}), zero_tensor({2, 3, 4}));
      },
      "[attention] q and k have different sizes");
  expect_message(
      [] {
        ops::attention(zero_tensor({2, 3, 4}), zero_tensor({1, 3, 4}), zero_tensor({2, 3, 4}));
      },
      "dimension 0 differs");
  expect_message(
      [] {
        ops::attention(zero_tensor({2, 3, 4}), zero_tensor({2, 5, 4}), zero_tensor({2, 3, 4}));
      },
      "different numbers of keys");
}

/// All gradients of `forward` at the same inputs, in `dtype`, as doubles.
using Forward = std::function<Tensor(const std::vector<Tensor>&)>;
std::vector<std::vector<double>> gradients(const Forward& forward, const std::vector<Shape>& shapes,
                                           DType dtype) {
  std::vector<Tensor> inputs;
  for (const Shape& shape : shapes) {
    inputs.push_back(normal(shape, dtype, static_cast<unsigned>(inputs.size()) + 3));
  }
  ops::GradientTape tape;
  tape.watch(inputs);
  const Tensor result = forward(inputs);
  const Tensor seed = normal(result.shape(), result.dtype(), 17);
  std::vector<std::vector<double>> values;
  for (const Tensor& gradient : tape.gradient(result, inputs, seed)) {
    EXPECT_EQ(gradient.dtype(), dtype);
    values.push_back(as_doubles(gradient));
  }
  return values;
}

void expect_same_in_all_dtypes(const Forward& forward, const std::vector<Shape>& shapes) {
  const auto expected = gradients(forward, shapes, DType::f64);
  for (const auto& [dtype, share] :
       {std::pair{DType::f32, 1e-5}, std::pair{DType::f16, 4e-3}, std::pair{DType::bf16, 3e-2}}) {
    const auto actual = gradients(forward, shapes, dtype);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      double largest = 0;
      double apart = 0;
      for (std::size_t k = 0; k < expected[i].size(); ++k) {
        largest = std::max(largest, std::abs(expected[i][k]));
        apart = std::max(apart, std::abs(expected[i][k] - actual[i][k]));
      }
      EXPECT_LE(apart, share * largest) << dtype_name(dtype) << ", input " << i;
    }
  }
}

TEST(RowExp, IsWithinTwoUnitsInTheLastPlace) {
  for (double x = -87.2; x < 88.7; x += 0.00137) {
    const auto at = static_cast<float>(x);
    const double exact = std::exp(static_cast<double>(at));
    const auto near = static_cast<float>(exact);
    const double unit = static_cast<double>(std::nextafter(near, HUGE_VALF)) - near;
    ASSERT_LE(std::abs(cpu::exp_of(at) - exact), 2 * unit) << at;
  }
  EXPECT_EQ(cpu::exp_of(0.0F), 1.0F);
  EXPECT_EQ(cpu::exp_of(-INFINITY), 0.0F);
  EXPECT_EQ(cpu::exp_of(INFINITY), INFINITY);
  EXPECT_EQ(cpu::exp_of(100.0F), INFINITY);
  EXPECT_TRUE(std::isnan(cpu::exp_of(NAN)));
}

TEST(SelfAttention, NamesWhatDoesNotFit) {
  expect_message(
      [] {
        ops::self_attention(zero_tensor({2, 3}), {.heads = 1});
      },
      "[self_attention]");
  expect_message(
      [] {
        ops::self_attention(zero_tensor({2, 3, 20}), {.heads = 2});
      },
      "[self_attention] 20 features are not queries, keys and values of 2 heads");
  expect_message(
      [] {
        ops::self_attention(zero_tensor({2, 3, 12}), {.heads = 0});
      },
      "[self_attention] 12 features are not queries, keys and values of 0 heads");
}

TEST(Attention, HasTheSameGradientsInEveryDtype) {
  for (const bool causal : {false, true}) {
    expect_same_in_all_dtypes(
        [causal](const std::vector<Tensor>& t) {
          return ops::attention(t[0], t[1], t[2], {.causal = causal});
        },
        {{2, 3, 150, 16}, {2, 3, 270, 16}, {2, 3, 270, 8}});
  }
}

TEST(SelfAttention, HasTheSameGradientsInEveryDtype) {
  for (const bool causal : {false, true}) {
    expect_same_in_all_dtypes(
        [causal](const std::vector<Tensor>& t) {
          return ops::self_attention(t[0], {.heads = 3, .causal = causal});
        },
        {{2, 150, 144}});
  }
}

TEST(Conv2d, HasTheSameGradientsInEveryDtype) {
  for (const Layout layout : {Layout::channels_first, Layout::channels_last}) {
    const Shape x = layout == Layout::channels_first ? Shape{3, 20, 9, 11} : Shape{3, 9, 11, 20};
    expect_same_in_all_dtypes(
        [layout](const std::vector<Tensor>& t) {
          return ops::conv2d(t[0], t[1], t[2],
                             {.stride = {2, 1}, .padding = ops::Padding::all(1), .layout = layout});
        },
        {x, {33, 20, 3, 3}, {33}});
  }
}

// Pictures so large that NCHW is brought into blocks in several turns.
TEST(Conv2d, InTurnsIsTheSameAsAtOnce) {
  const std::vector<Shape> shapes = {{6, 16, 160, 160}, {16, 16, 3, 3}};
  const auto run = [](Layout layout, const Shape& x_shape, bool swap) {
    Tensor x = normal(x_shape, DType::f32, 5);
    const Tensor w = normal({16, 16, 3, 3}, DType::f32, 6);
    if (swap) x = x.transpose(1, 2).transpose(2, 3).contiguous();
    ops::GradientTape tape;
    const std::vector<Tensor> inputs = {x, w};
    tape.watch(inputs);
    const Tensor y = ops::conv2d(x, w, {}, {.padding = ops::Padding::all(1), .layout = layout});
    return as_doubles(tape.gradient(y, inputs)[1]);
  };
  const auto in_turns = run(Layout::channels_first, shapes[0], false);
  const auto at_once = run(Layout::channels_last, shapes[0], true);
  double largest = 0;
  for (const double value : at_once) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < at_once.size(); ++i) {
    ASSERT_NEAR(in_turns[i], at_once[i], 2e-5 * largest) << i;
  }
}

Tensor labels_of(const std::vector<std::int64_t>& values) {
  return Tensor::from_values<std::int64_t>(values, {static_cast<std::int64_t>(values.size())},
                                           test::op_cases_device());
}

TEST(LinearCrossEntropy, NamesTheLabelThatIsNoClass) {
  expect_message(
      [] {
        ops::linear_cross_entropy(zero_tensor({2, 3}), zero_tensor({4, 3}), labels_of({0, 4}));
      },
      "[linear_cross_entropy] label 4 of token 1 is outside the 4 classes; use -100");
  expect_message(
      [] {
        ops::linear_cross_entropy(zero_tensor({2, 3}), zero_tensor({4, 2}), labels_of({0, 1}));
      },
      "x has 3 features, the weight [classes,features] takes 2");
  expect_message(
      [] {
        ops::linear_cross_entropy(zero_tensor({2, 3}), zero_tensor({4, 3}), zero_tensor({2}));
      },
      "labels must be i32 or i64");
}

/// Counts the elements of gradients that the op computed.
class Watching final : public ops::Dispatcher {
 public:
  std::vector<Tensor> call(const ops::OpCall& call) override {
    if (call.def.name == "linear_cross_entropy") {
      dx = call.outputs[2].elements();
      dweight = call.outputs[3].elements();
    }
    return eager().call(call);
  }
  std::int64_t dx = -1;
  std::int64_t dweight = -1;
};

TEST(LinearCrossEntropy, ComputesOnlyTheGradientsThatATapeFollows) {
  const Tensor x = zero_tensor({2, 3});
  const Tensor weight = zero_tensor({4, 3});
  Watching watching;
  const ops::DispatchScope scope(watching);
  ops::linear_cross_entropy(x, weight, labels_of({0, 1}));
  EXPECT_EQ(watching.dx, 0);
  EXPECT_EQ(watching.dweight, 0);
  ops::GradientTape tape;
  tape.watch(x);
  const Tensor loss = ops::linear_cross_entropy(x, weight, labels_of({0, 1}));
  EXPECT_EQ(watching.dx, 6);
  EXPECT_EQ(watching.dweight, 0);
  EXPECT_TRUE(tape.gradient(loss, x).defined());
}

TEST(LinearCrossEntropy, HasTheSameGradientsInEveryDtype) {
  std::vector<std::int64_t> labels(300);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    labels[i] = i % 7 == 0 ? ops::kIgnoreLabel : static_cast<std::int64_t>(i * 5 % 9000);
  }
  expect_same_in_all_dtypes(
      [&](const std::vector<Tensor>& t) {
        return ops::linear_cross_entropy(t[0], t[1], labels_of(labels));
      },
      {{300, 12}, {9000, 12}});
}

// A loss scale is there to keep small gradients in f16: it must come before they are rounded.
TEST(LinearCrossEntropy, ScalesBeforeItRounds) {
  const Tensor x = normal({4096, 4}, DType::f16, 3);
  const Tensor weight = normal({8, 4}, DType::f16, 4);
  ops::GradientTape tape;
  tape.watch(x);
  const Tensor loss =
      ops::linear_cross_entropy(x, weight, labels_of(std::vector<std::int64_t>(4096, 0)));
  const Tensor seed = from_doubles({65536}, {}, DType::f32);
  const auto dx = as_doubles(tape.gradient(loss, {&x, 1}, seed)[0]);
  for (const double value : dx) EXPECT_TRUE(std::isfinite(value));
  double scaled = 0;
  for (const double value : dx) scaled += std::abs(value);
  ops::GradientTape wide_tape;
  const Tensor wide_x = from_doubles(as_doubles(x), x.shape(), DType::f64);
  wide_tape.watch(wide_x);
  const Tensor wide_loss = ops::linear_cross_entropy(
      wide_x, from_doubles(as_doubles(weight), weight.shape(), DType::f64),
      labels_of(std::vector<std::int64_t>(4096, 0)));
  double expected = 0;
  for (const double value : as_doubles(wide_tape.gradient(wide_loss, wide_x))) {
    expected += std::abs(value) * 65536;
  }
  EXPECT_NEAR(scaled, expected, 2e-3 * expected);
}

}  // namespace
}  // namespace plimsoll

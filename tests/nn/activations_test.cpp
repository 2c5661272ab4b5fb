#include <plimsoll/nn/activations.h>

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/sequential.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/tape.h>

#include "support/op_cases.h"
#include "support/op_checks.h"
#include "support/recorded.h"

namespace plimsoll::nn {
namespace {

using test::complaint;
using test::expect_gradients;
using test::expect_recorded;
using test::expect_trains;
using test::random_tensor;
using ::testing::HasSubstr;

test::TensorsFunction of(Tensor (*function)(const Tensor&)) {
  return [function](const Tensors& in) { return Tensors{function(in[0])}; };
}

TEST(Activations, EqualPyTorchs) {
  const std::map<std::string, test::TensorsFunction> all = {
      {"selu", of(selu)},
      {"celu", [](const Tensors& in) { return Tensors{celu(in[0], 0.7)}; }},
      {"mish", of(mish)},
      {"hard_sigmoid", of(hard_sigmoid)},
      {"hard_swish", of(hard_swish)},
      {"hard_tanh", of(hard_tanh)},
      {"relu6", of(relu6)},
      {"log_sigmoid", of(log_sigmoid)},
      {"softsign", of(softsign)}};
  for (const auto& [name, function] : all) {
    expect_recorded("activations", name, function);
    expect_recorded("activations", name + "_one", function);
  }
}

TEST(Activations, GradientsEndAtTheBoundsAsPyTorchs) {
  struct Bent {
    Tensor (*function)(const Tensor& x);
    std::vector<double> at;
    std::vector<double> slopes;  // PyTorch's
  };
  for (const Bent& each : {Bent{relu6, {-1, 0, 0.5, 6, 7}, {0, 0, 1, 0, 0}},
                           Bent{hard_tanh, {-2, -1, 0, 1, 2}, {0, 0, 1, 0, 0}},
                           Bent{hard_sigmoid, {-3, -2.984375, 2.984375, 3}, {0, 1. / 6, 1. / 6, 0}},
                           Bent{hard_swish, {-3, 0, 2.984375, 3}, {0, 0.5, 1.4947917, 1}}}) {
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
      const Tensor x = ops::cast(
          Tensor::from_values<double>(each.at, {static_cast<std::int64_t>(each.at.size())},
                                      test::op_cases_device()),
          dtype);
      ops::GradientTape tape;
      tape.watch(x);
      const Tensor y = ops::sum(ops::cast(each.function(x), DType::f64));
      const std::vector<double> found = test::as_doubles(tape.gradient(y, x));
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_NEAR(found[i], each.slopes[i], dtype == DType::bf16 ? 8e-3 : 1e-3)
            << dtype_name(dtype) << " at " << each.at[i];
      }
    }
  }
}

TEST(Activations, PReluHasOneSlopeOrOneForEachChannel) {
  const auto function = [](const Tensors& in) { return Tensors{prelu(in[0], in[1])}; };
  expect_recorded("activations", "prelu_one", function);
  expect_recorded("activations", "prelu_channels", function);
  expect_recorded("activations", "prelu_module", PReLU(3));
}

TEST(Activations, GatedUnitsEqualPyTorchs) {
  expect_recorded("activations", "glu", [](const Tensors& in) { return Tensors{glu(in[0])}; });
  expect_recorded("activations", "glu_channels",
                  [](const Tensors& in) { return Tensors{glu(in[0], 1)}; });
  expect_recorded("activations", "swiglu",
                  [](const Tensors& in) { return Tensors{swiglu(in[0])}; });
  expect_recorded("activations", "geglu", [](const Tensors& in) { return Tensors{geglu(in[0])}; });
}

TEST(Activations, GradientsAreWhatDifferencesSay) {
  for (const auto& function : {of(selu), of(mish), of(hard_swish), of(log_sigmoid), of(softsign)}) {
    expect_gradients(function, {random_tensor({3, 5}, 1, DType::f64)});
  }
  expect_gradients([](const Tensors& in) { return Tensors{prelu(in[0], in[1])}; },
                   {random_tensor({2, 3, 4}, 2, DType::f64), random_tensor({3}, 3, DType::f64)});
  for (const Gate gate : {Gate::sigmoid, Gate::silu, Gate::gelu, Gate::relu, Gate::linear}) {
    expect_gradients([gate](const Tensors& in) { return Tensors{glu(in[0], 1, gate)}; },
                     {random_tensor({2, 6}, 4, DType::f64)});
  }
}

TEST(Activations, StayFiniteFarOut) {
  const Tensor x =
      Tensor::from_values({-1e30F, -1e4F, 1e4F, 1e30F}, {4}, random_tensor({1}, 1).device());
  for (const auto& function : {of(selu), of(mish), of(log_sigmoid), of(softsign)}) {
    for (const float value : function({x})[0].to_vector<float>()) {
      EXPECT_FALSE(std::isnan(value));
    }
  }
  EXPECT_EQ(log_sigmoid(x).to_vector<float>()[1], -1e4F);
}

TEST(Activations, AreTrainedInsideOfAPlan) {
  expect_trains(
      Sequential(Dense(6), PReLU(6), Mish(), Dense(4), SELU(), HardSwish(), Softsign(), GLU(),
                 ELU(), CELU(), LeakyReLU(), HardSigmoid(), LogSigmoid(), Softplus()),
      {random_tensor({4, 3}, 5)});
}

TEST(Activations, MistakesAreNamed) {
  const Tensor x = random_tensor({2, 3}, 1);
  EXPECT_THAT(complaint([&] { glu(x); }), HasSubstr("[glu] dimension 1 of f32 [2,3] is odd"));
  EXPECT_THAT(complaint([&] { prelu(x, random_tensor({2}, 1)); }),
              HasSubstr("[prelu] 2 slopes for x f32 [2,3]"));
  EXPECT_THAT(complaint([&] { celu(x, 0); }), HasSubstr("[celu] alpha is 0"));
  EXPECT_THAT(complaint([&] {
                gated(x, random_tensor({2, 4}, 1), Gate::silu);
              }),
              HasSubstr("they need one shape"));
}

}  // namespace
}  // namespace plimsoll::nn

// Predicted times of products and attention, and what a plan says of precision and slow kernels.
#include "plan/op_seconds.h"

#include <string>
#include <vector>

#include <regex>

#include <gtest/gtest.h>

#include <plimsoll/function/scan.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/convolution_shape.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/softmax.h>
#include <plimsoll/plan/planner.h>

namespace plimsoll::plan {
namespace {

double seconds(DType dtype, bool tf32, const Shape& a, const Shape& b, const char* device) {
  const ops::OpDef& def = *ops::find_op("matmul");
  const std::vector<TensorType> types = {{dtype, a}, {dtype, b}};
  ops::Attributes attributes = {{"transpose_a", false}, {"transpose_b", false}};
  if (tf32) attributes.set("tf32", true);
  const ops::OpInputs inputs(def, types, attributes);
  return op_seconds(inputs, def.types(inputs), describe_device(device));
}

TEST(OpSeconds, F32IsPredictedWithItsOwnRateAndTf32WithIts) {
  const Shape square{8192, 8192};
  const double flops = 2.0 * 8192 * 8192 * 8192;
  const double f32 = seconds(DType::f32, false, square, square, "h200");
  const double tf32 = seconds(DType::f32, true, square, square, "h200");
  const double bf16 = seconds(DType::bf16, false, square, square, "h200");
  EXPECT_NEAR(flops / f32, 50e12, 10e12);
  EXPECT_GT(f32, 4 * tf32);
  EXPECT_GT(tf32, 1.5 * bf16);
  // A GPU without TF32.
  EXPECT_EQ(seconds(DType::f32, false, square, square, "t4"),
            seconds(DType::f32, true, square, square, "t4"));
}

TEST(OpSeconds, ProductsArePredictedAsTheyWereMeasured) {
  struct Case {
    std::int64_t m;
    std::int64_t n;
    std::int64_t k;
    double measured;  ///< microseconds on an H200, bf16
  };
  // Of ViT-B/16, GPT-2, BERT and MLP-Mixer, among them gradients of weights, whose results are few
  // blocks with long sums; the last ones are small.
  for (const Case& c :
       {Case{25216, 3072, 768, 186}, Case{25216, 768, 3072, 162}, Case{768, 3072, 25216, 168},
        Case{2304, 768, 25216, 138}, Case{16384, 2304, 768, 101}, Case{3072, 768, 12288, 83},
        Case{16384, 768, 768, 37}, Case{100864, 768, 192, 71}, Case{192, 768, 100864, 64},
        Case{864, 262, 1, 3.1}, Case{2, 1512, 96, 2.3}}) {
    const double predicted = 1e6 * seconds(DType::bf16, false, {c.m, c.k}, {c.k, c.n}, "h200");
    EXPECT_NEAR(predicted / c.measured, 1, c.measured > 10 ? 0.25 : 0.5)
        << c.m << " " << c.n << " " << c.k;
  }
}

TEST(OpSeconds, AttentionIsPredictedAsItWasMeasured) {
  struct Case {
    std::int64_t batch;
    std::int64_t heads;
    std::int64_t tokens;
    std::int64_t size;
    bool causal;
    double measured;  ///< microseconds on an H200, bf16
  };
  for (const Case& c : {Case{16, 12, 1024, 64, true, 88.5}, Case{128, 12, 197, 64, false, 95.5},
                        Case{4, 16, 2048, 128, true, 137.7}, Case{8, 8, 777, 40, false, 47.3},
                        Case{2, 12, 4096, 64, true, 131.6}}) {
    graph::Tracer tracer;
    const Tensor x = tracer.input("x", {DType::bf16, {c.batch, c.tokens, 3 * c.heads * c.size}});
    const ops::DispatchScope dispatch(tracer);
    tracer.output(ops::self_attention(x, {.heads = static_cast<int>(c.heads), .causal = c.causal}));
    const auto graph = std::make_shared<graph::Graph>(tracer.finish());
    const Plan plan = Planner(graph, {.device = describe_device("h200")}).plan(kUnlimited);
    EXPECT_NEAR(1e6 * plan.seconds / c.measured, 1, 0.25) << c.tokens << " " << c.size;
  }
}

/// Of a convolution that keeps the picture's size.
double conv_seconds(DType dtype, bool tf32, const Shape& x, const Shape& w, std::int64_t groups) {
  const ops::OpDef& def = *ops::find_op("conv2d");
  const std::vector<TensorType> types = {{dtype, x}, {dtype, w}};
  ops::Attributes attributes =
      ops::conv_attributes({.padding = ops::Padding::all(w[2] / 2), .groups = groups});
  attributes.set("nhwc", true);
  if (tf32) attributes.set("tf32", true);
  const ops::OpInputs inputs(def, types, attributes);
  return op_seconds(inputs, def.types(inputs), describe_device("h200"));
}

TEST(OpSeconds, ConvolutionsArePredictedAsTheyWereMeasured) {
  struct Case {
    DType dtype;
    bool tf32;
    Shape x;
    Shape w;
    std::int64_t groups;
    double measured;  ///< microseconds on an H200
  };
  for (const Case& c : {Case{DType::bf16, false, {256, 56, 56, 64}, {64, 64, 3, 3}, 1, 128},
                        Case{DType::bf16, false, {32, 32, 32, 512}, {512, 512, 3, 3}, 1, 219},
                        Case{DType::bf16, false, {256, 28, 28, 128}, {512, 128, 1, 1}, 1, 73},
                        Case{DType::bf16, false, {128, 56, 56, 96}, {96, 1, 7, 7}, 96, 186},
                        Case{DType::bf16, false, {128, 56, 56, 144}, {144, 1, 3, 3}, 144, 104.8},
                        Case{DType::bf16, false, {128, 28, 28, 240}, {240, 1, 5, 5}, 240, 80.5},
                        Case{DType::bf16, false, {64, 14, 14, 512}, {512, 1, 3, 3}, 512, 14.3},
                        Case{DType::bf16, false, {32, 224, 224, 3}, {64, 3, 3, 3}, 1, 169.4},
                        Case{DType::f32, true, {32, 128, 128, 128}, {128, 128, 3, 3}, 1, 425},
                        Case{DType::f32, false, {128, 14, 14, 256}, {256, 256, 3, 3}, 1, 868}}) {
    const double predicted = 1e6 * conv_seconds(c.dtype, c.tf32, c.x, c.w, c.groups);
    EXPECT_NEAR(predicted / c.measured, 1, 0.2) << c.x.to_string() << " " << c.w.to_string();
  }
}

double scan_seconds(std::int64_t steps, const char* device) {
  graph::Tracer tracer;
  const Tensor h = tracer.input("h", {DType::bf16, {64, 1024}});
  const Tensor x = tracer.input("x", {DType::bf16, {steps, 64, 1024}});
  const Tensor w = tracer.input("w", {DType::bf16, {1024, 1024}});
  const ops::DispatchScope dispatch(tracer);
  tracer.output(scan(
                    [](const auto& states, const auto& xs, const auto& shared) -> ScanStep {
                      return {.states = {ops::add(ops::matmul(states[0], shared[0]), xs[0])}};
                    },
                    {h}, {x}, {w})
                    .states[0]);
  const graph::Graph graph = tracer.finish();
  const graph::Node& node = graph.nodes().front();
  std::vector<TensorType> types;
  for (const graph::ValueId id : node.inputs) types.push_back(graph.value(id).type);
  const ops::OpInputs inputs(*node.op, types, node.attributes);
  return op_seconds(inputs, node.op->types(inputs), describe_device(device));
}

TEST(OpSeconds, AScanTakesItsOpsInEveryStep) {
  const double one = scan_seconds(1, "h200");
  EXPECT_NEAR(scan_seconds(256, "h200") / one, 256, 1e-6);
  const double product = seconds(DType::bf16, false, {64, 1024}, {1024, 1024}, "h200");
  EXPECT_GT(one, product + describe_device("h200").launch_seconds);
}

Plan planned(DType dtype, std::int64_t size, const char* device) {
  graph::Tracer tracer;
  const Tensor x = tracer.input("x", {dtype, {8, 512, 3 * 4 * size}});
  const ops::DispatchScope dispatch(tracer);
  tracer.output(ops::self_attention(x, {.heads = 4}));
  return Planner(std::make_shared<graph::Graph>(tracer.finish()),
                 {.device = describe_device(device)})
      .plan(kUnlimited);
}

TEST(PlanExplains, WhatTf32WouldTake) {
  EXPECT_NE(planned(DType::f32, 64, "h200").explain().find("tf32"), std::string::npos);
  EXPECT_EQ(planned(DType::bf16, 64, "h200").explain().find("tf32"), std::string::npos);
  EXPECT_EQ(planned(DType::f32, 64, "cpu").explain().find("tf32"), std::string::npos);
}

TEST(PlanExplains, SlowKernelsAndWhatAvoidsThem) {
  std::string text = planned(DType::bf16, 20, "h200").explain();
  text = std::regex_replace(text, std::regex("\n +"), " ");  // lines are wrapped
  EXPECT_NE(text.find("slow: self_attention: 1 task"), std::string::npos) << text;
  EXPECT_NE(text.find("heads of 20"), std::string::npos) << text;
  EXPECT_NE(text.find("use heads of 8 to 128 elements in steps of 8"), std::string::npos) << text;
  EXPECT_EQ(planned(DType::bf16, 64, "h200").explain().find("slow:"), std::string::npos);
  EXPECT_EQ(planned(DType::f32, 20, "h200").explain().find("slow:"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll::plan

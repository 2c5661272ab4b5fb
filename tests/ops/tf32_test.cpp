// TF32 as an attribute: which ops get it, and that a CPU computes as ever.
#include <plimsoll/ops/tf32.h>

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/convolution.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/softmax.h>
#include <plimsoll/ops/tape.h>

#include "support/op_checks.h"

namespace plimsoll {
namespace {

/// Whether all nodes of an op in a graph have the attribute; by op.
std::map<std::string, bool> marked(const graph::Graph& graph) {
  std::map<std::string, bool> found;
  for (const graph::Node& node : graph.nodes()) {
    const bool tf32 = ops::uses_tf32(node.attributes);
    const auto [it, fresh] = found.try_emplace(std::string(node.op->name), tf32);
    if (!fresh) it->second = it->second && tf32;
  }
  return found;
}

graph::Graph trace(DType compute, bool tf32) {
  graph::Tracer tracer;
  const Tensor x = tracer.input("x", {DType::f32, {2, 8, 48}});
  const Tensor w = tracer.input("w", {DType::f32, {48, 48}});
  const Tensor kernel = tracer.input("kernel", {DType::f32, {4, 2, 3, 3}});
  const ops::DispatchScope dispatch(tracer);
  ops::GradientTape tape;
  tape.watch(std::vector<Tensor>{w, kernel});
  Tensor loss;
  {
    const ops::PrecisionScope precision(compute);
    const ops::Tf32Scope scope(tf32);
    const Tensor y = ops::linear(x, w);
    const Tensor z = ops::self_attention(ops::matmul(y, w), {.heads = 2});
    const Tensor pictures = ops::reshape(y, Shape{1, 2, 8, 48});
    loss = ops::add(ops::sum(ops::cast(ops::conv2d(pictures, kernel), DType::f32)),
                    ops::sum(ops::cast(z, DType::f32)));
  }
  tracer.output(loss);
  for (const Tensor& g : tape.gradient(loss, std::vector<Tensor>{w, kernel})) tracer.output(g);
  return tracer.finish();
}

TEST(Tf32, MarksProductsConvolutionsAttentionAndTheirGradients) {
  const auto found = marked(trace(DType::f32, true));
  for (const char* op : {"linear", "matmul", "self_attention", "self_attention_grad", "conv2d",
                         "conv2d_weight_grad"}) {
    ASSERT_TRUE(found.contains(op)) << op;
    EXPECT_TRUE(found.at(op)) << op;
  }
  EXPECT_FALSE(found.at("sum"));
}

TEST(Tf32, IsOffByDefaultAndIn16Bits) {
  for (const auto& [op, tf32] : marked(trace(DType::f32, false))) EXPECT_FALSE(tf32) << op;
  for (const auto& [op, tf32] : marked(trace(DType::bf16, true))) EXPECT_FALSE(tf32) << op;
}

TEST(Tf32, ACallCanAskForIt) {
  graph::Tracer tracer;
  const Tensor x = tracer.input("x", {DType::f32, {8, 48}});
  const ops::DispatchScope dispatch(tracer);
  tracer.output(ops::matmul(x, x, {.transpose_b = true, .tf32 = true}));
  EXPECT_TRUE(marked(tracer.finish()).at("matmul"));
}

TEST(Tf32, IsF32OnTheCpu) {
  const Tensor a = test::random_tensor({33, 65}, 1);
  const Tensor b = test::random_tensor({65, 17}, 2);
  const Tensor full = ops::matmul(a, b);
  const ops::Tf32Scope scope;
  EXPECT_EQ(ops::matmul(a, b).to_vector<float>(), full.to_vector<float>());
}

}  // namespace
}  // namespace plimsoll

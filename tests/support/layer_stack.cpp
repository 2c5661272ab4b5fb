#include "support/layer_stack.h"

#include <random>
#include <string>

#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/ops/update.h>

namespace plimsoll::test {
namespace {

Tensor filled(const Shape& shape, unsigned seed, const Device& device) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-0.1F, 0.1F);
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  for (float& v : values) v = uniform(random);
  return Tensor::from_values(std::span<const float>(values), shape, device);
}

}  // namespace

LayerStack::LayerStack(const Device& device, int layers, std::int64_t batch, std::int64_t width)
    : feed(filled({batch, width}, 99, device)) {
  for (int i = 0; i < layers; ++i) {
    weights.push_back(filled({width, width}, static_cast<unsigned>(i) + 1, device));
  }
  graph::Tracer tracer;
  const Tensor x = tracer.input("x", feed.type());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    tracer.bind(weights[i], graph::Role::parameter, Tag::parameters, "w" + std::to_string(i));
  }
  const ops::DispatchScope scope(tracer);
  ops::GradientTape tape;
  tape.watch(weights);
  Tensor h = x;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const ops::NameScope name("layer" + std::to_string(i));
    h = ops::add(h, ops::relu(ops::matmul(h, weights[i])));
  }
  const Tensor loss = ops::mean(ops::square(h));
  const auto gradients = tape.gradient(loss, weights);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    ops::assign(weights[i], ops::sub(weights[i], ops::scale(gradients[i], 0.01)));
  }
  tracer.output(loss);
  graph = std::make_shared<graph::Graph>(tracer.finish());
  graph->verify();
  for (const Tensor& w : weights) initial.push_back(w.to_vector<float>());
}

void LayerStack::reset() {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i].copy_from(std::span<const float>(initial[i]));
  }
}

std::vector<float> LayerStack::losses(const plan::Plan& plan, const Device& device, int steps,
                                      const std::shared_ptr<Storage>& host) {
  reset();
  plan::Executor executor(plan, device, {.check = true, .host = host});
  std::vector<float> result;
  for (int i = 0; i < steps; ++i) {
    executor.run({&feed, 1});
    result.push_back(executor.outputs().front().item<float>());
  }
  return result;
}

}  // namespace plimsoll::test

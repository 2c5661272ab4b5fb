#include "support/random_functions.h"

#include <array>

#include <plimsoll/math/arrange.h>
#include <plimsoll/nn/activations.h>
#include <plimsoll/nn/embedding_bag.h>
#include <plimsoll/nn/group_norm.h>
#include <plimsoll/nn/multi_head_attention.h>
#include <plimsoll/nn/rope.h>
#include <plimsoll/nn/transformer.h>
#include <plimsoll/nn/weight_form.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/softmax.h>

#include "support/random_cases.h"

namespace plimsoll::test {
namespace {

using nn::Tensors;
using ops::Gate;
using Settings = RandomSettings;

/// Functions of one tensor, by name.
struct Unary {
  const char* name;
  Tensor (*function)(const Tensor& x);
};
template <std::size_t N>
void expect_unary(const std::array<Unary, N>& all) {
  for (const Unary& each : all) {
    expect_function(each.name, [&](Settings&) {
      return [&](const Tensors& in) { return Tensors{each.function(in[0])}; };
    });
  }
}

void check_activations() {
  expect_unary(std::array{
      Unary{"relu", ops::relu},
      Unary{"leaky_relu", [](const Tensor& x) { return ops::leaky_relu(x, 0.125); }},
      Unary{"elu", [](const Tensor& x) { return ops::elu(x, 0.5); }},
      Unary{"selu", nn::selu},
      Unary{"celu", [](const Tensor& x) { return nn::celu(x, 0.5); }},
      Unary{"gelu", [](const Tensor& x) { return ops::gelu(x); }},
      Unary{"gelu_tanh", [](const Tensor& x) { return ops::gelu(x, ops::Gelu::tanh); }},
      Unary{"silu", ops::silu},
      Unary{"mish", nn::mish},
      Unary{"sigmoid", ops::sigmoid},
      Unary{"tanh", ops::tanh},
      Unary{"softplus", ops::softplus},
      Unary{"softsign", nn::softsign},
      Unary{"log_sigmoid", nn::log_sigmoid},
      Unary{"hard_sigmoid", nn::hard_sigmoid},
      Unary{"hard_swish", nn::hard_swish},
      Unary{"hard_tanh", nn::hard_tanh},
      Unary{"relu6", nn::relu6},
  });
  expect_function("prelu", [](Settings&) {
    return [](const Tensors& in) { return Tensors{nn::prelu(in[0], in[1])}; };
  });
}

void check_arithmetic() {
  expect_unary(std::array{
      Unary{"abs", ops::abs},
      Unary{"neg", ops::neg},
      Unary{"square", ops::square},
      Unary{"exp", ops::exp},
      Unary{"sin", ops::sin},
      Unary{"cos", ops::cos},
      Unary{"erf", ops::erf},
      Unary{"clip", [](const Tensor& x) { return ops::clip(x, -0.5, 1.5); }},
      Unary{"sqrt", ops::sqrt},
      Unary{"rsqrt", ops::rsqrt},
      Unary{"reciprocal", ops::reciprocal},
      Unary{"log", ops::log},
      Unary{"log1p", ops::log1p},
  });
  struct Binary {
    const char* name;
    Tensor (*function)(const Tensor& a, const Tensor& b);
  };
  for (const Binary& each :
       {Binary{"add", ops::add}, Binary{"sub", ops::sub}, Binary{"mul", ops::mul},
        Binary{"div", ops::div}, Binary{"maximum", ops::maximum}, Binary{"minimum", ops::minimum},
        Binary{"pow", ops::pow}}) {
    expect_function(each.name, [&](Settings&) {
      return [&](const Tensors& in) { return Tensors{each.function(in[0], in[1])}; };
    });
  }
  expect_function("where", [](Settings&) {
    return [](const Tensors& in) { return Tensors{ops::where(in[0], in[1], in[2])}; };
  });
  expect_function("where_number", [](Settings&) {
    return [](const Tensors& in) { return Tensors{math::where(in[0], in[1], 0.5)}; };
  });
}

void check_gates() {
  expect_function("gated", [](Settings& s) {
    const auto gate = static_cast<Gate>(s.next());
    return [gate](const Tensors& in) { return Tensors{ops::gated(in[0], in[1], gate)}; };
  });
  expect_function("glu", [](Settings& s) {
    const auto gate = static_cast<Gate>(s.next());
    return [gate](const Tensors& in) { return Tensors{nn::glu(in[0], -1, gate)}; };
  });
  expect_function("rope", [](Settings& s) {
    const auto style = static_cast<nn::RopeStyle>(s.next());
    return [style](const Tensors& in) {
      const Tensor& x = in[0];
      return Tensors{nn::rope(x, nn::rope_tables(x, x.dim(-2), x.dim(-1), 100), style)};
    };
  });
}

void check_more_norms() {
  expect_function("instance_norm", [](Settings& s) {
    const std::int64_t channels = s.next();
    return [channels](const Tensors& in) {
      return Tensors{nn::group_norm(in[0], channels, in[1], in[2])};
    };
  });
  expect_function("weight_norm", [](Settings&) {
    return [](const Tensors& in) { return Tensors{nn::weight_norm(in[0], in[1])}; };
  });
  expect_function("spectral_norm", [](Settings&) {
    return [](const Tensors& in) {
      return Tensors{nn::spectral_norm(in[0], in[1], in[2], false).weight};
    };
  });
}

void check_attention_ways() {
  expect_function("attention_ways", [](Settings& s) {
    nn::AttentionOptions options;
    options.causal = s.flag();
    options.window = s.next();
    const bool masked = s.flag();
    const bool biased = s.flag();
    return [=](const Tensors& in) {
      nn::AttentionOptions all = options;
      if (masked) all.key_mask = in[3];
      if (biased) all.bias = in.back();
      return Tensors{nn::attention(in[0], in[1], in[2], all)};
    };
  });
  expect_function("self_attention", [](Settings& s) {
    ops::SelfAttentionOptions options;
    options.heads = s.next();
    options.key_heads = s.next();
    options.causal = s.flag();
    return [=](const Tensors& in) { return Tensors{ops::self_attention(in[0], options)}; };
  });
}

template <typename Layer>
Layer transformer(Settings& s) {
  nn::TransformerLayerOptions o;
  o.features = s.next();
  o.heads = s.next();
  o.hidden = s.next();
  o.dropout = 0;
  o.activation = static_cast<nn::TransformerLayerOptions::Activation>(s.next());
  o.norm_first = s.flag();
  return Layer(o);
}

void check_transformers() {
  expect_function("multi_head", [](Settings& s) {
    const std::int64_t features = s.next();
    const std::int64_t heads = s.next();
    return nn::MultiHeadAttention({.features = features, .heads = heads, .bias = s.flag()});
  });
  expect_function("encoder", transformer<nn::TransformerEncoderLayer>);
  expect_function("decoder", transformer<nn::TransformerDecoderLayer>);
}

void check_bags() {
  using Mode = nn::EmbeddingBagOptions::Mode;
  const auto expect_bags = [](const char* name, Mode mode) {
    expect_function(name, [mode](Settings& s) {
      const std::int64_t rows = s.next();
      const std::int64_t features = s.next();
      return nn::EmbeddingBag(rows, features, {.mode = mode, .padding_id = s.next()});
    });
  };
  expect_bags("bag_sum", Mode::sum);
  expect_bags("bag_mean", Mode::mean);
  expect_bags("bag_max", Mode::max);
}

}  // namespace

std::vector<RandomFamily> random_functions() {
  return {{"Activations", check_activations},
          {"Arithmetic", check_arithmetic},
          {"Gates", check_gates},
          {"MoreNorms", check_more_norms},
          {"AttentionWays", check_attention_ways},
          {"Transformers", check_transformers},
          {"Bags", check_bags}};
}

}  // namespace plimsoll::test

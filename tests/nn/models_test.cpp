// The models by name: their sizes, their names, and that each of them can be planned and run.
#include <plimsoll/nn/models.h>
#include <plimsoll/nn/recommendation_models.h>

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/nn/language_models.h>
#include <plimsoll/nn/vision_models.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/train/step.h>

#include "support/own_device.h"

namespace plimsoll::nn {
namespace {

using ::testing::HasSubstr;

graph::Graph trace_step(const Model& model, std::int64_t n, DType compute) {
  optim::Optimizer optimizer = optim::adamw();
  optimizer.attach(model);
  graph::Tracer tracer;
  const Tensor x = tracer.input("x", model.input_type(n));
  const Tensor y = tracer.input("y", model.target_type(n));
  bind(tracer, model);
  optim::bind(tracer, optimizer);
  const ops::DispatchScope scope(tracer);
  tracer.output(train::training_step(model, optimizer, x, y, {.compute = compute}));
  return tracer.finish();
}

TEST(Models, CountsOfParametersAreThePublishedOnes) {
  const std::map<std::string, std::int64_t> known = {
      {"lenet", 61706},
      {"resnet18", 11689512},
      {"resnet50", 25557032},
      {"vit_b16", 86567656},
      {"vit_tiny", 5717416},
      {"gpt2", 124439808},
      {"unet", 31037698},
      {"convnext_t", 28589128},
      {"efficientnet_b0", 5288548},
      {"mixer", 59880472},
      {"bert", 109514298},
      {"llama", 124668672},
      {"lstm_lm", 37283600},
      {"dlrm", 26 * 100000 * 64 + (13 * 512 + 512 + 512 * 256 + 256 + 256 * 64 + 64) +
                   ((64 + 351) * 512 + 512 + 512 * 256 + 256 + 256 + 1)},
      {"mlp", 784 * 256 + 256 + 256 * 256 + 256 + 2560 + 10},
      {"gpt2_tiny", 256 * 128 + 128 * 128 + 4 * (12 * 128 * 128 + 13 * 128) + 256}};
  for (const ModelInfo& info : list_models()) {
    ASSERT_TRUE(known.contains(std::string(info.name))) << info.name;
    EXPECT_EQ(make_model(info.name).parameter_count(), known.at(std::string(info.name)))
        << info.name;
  }
  EXPECT_EQ(list_models().size(), known.size());
}

TEST(Models, NamesAreThoseOfTheFilesPeopleHave) {
  const std::map<std::string, std::map<std::string, Shape>> known = {
      {"resnet18",
       {{"conv1.weight", {64, 3, 7, 7}},
        {"layer1.0.conv1.weight", {64, 64, 3, 3}},
        {"layer2.0.downsample.0.weight", {128, 64, 1, 1}},
        {"layer2.0.downsample.1.running_var", {128}},
        {"layer4.1.bn2.bias", {512}},
        {"fc.weight", {1000, 512}}}},
      {"resnet50",
       {{"layer1.0.downsample.0.weight", {256, 64, 1, 1}},
        {"layer3.5.conv3.weight", {1024, 256, 1, 1}},
        {"fc.bias", {1000}}}},
      {"vit_b16",
       {{"cls_token", {1, 1, 768}},
        {"pos_embed", {1, 197, 768}},
        {"patch_embed.proj.weight", {768, 3, 16, 16}},
        {"blocks.11.attn.qkv.weight", {2304, 768}},
        {"blocks.0.mlp.fc1.bias", {3072}},
        {"blocks.0.norm2.weight", {768}},
        {"norm.bias", {768}},
        {"head.weight", {1000, 768}}}},
      {"gpt2",
       {{"transformer.wte.weight", {50257, 768}},
        {"transformer.wpe.weight", {1024, 768}},
        {"transformer.h.11.attn.c_attn.weight", {768, 2304}},
        {"transformer.h.0.mlp.c_proj.weight", {3072, 768}},
        {"transformer.h.0.ln_1.bias", {768}},
        {"transformer.ln_f.weight", {768}}}},
      {"convnext_t",
       {{"features.0.0.weight", {96, 3, 4, 4}},
        {"features.0.1.bias", {96}},
        {"features.1.0.layer_scale", {96, 1, 1}},
        {"features.1.2.block.0.weight", {96, 1, 7, 7}},
        {"features.2.0.weight", {96}},
        {"features.2.1.weight", {192, 96, 2, 2}},
        {"features.5.8.block.3.weight", {1536, 384}},
        {"features.7.2.block.5.bias", {768}},
        {"classifier.0.weight", {768}},
        {"classifier.2.weight", {1000, 768}}}},
      {"efficientnet_b0",
       {{"features.0.0.weight", {32, 3, 3, 3}},
        {"features.0.1.running_var", {32}},
        {"features.1.0.block.0.0.weight", {32, 1, 3, 3}},
        {"features.1.0.block.1.fc1.weight", {8, 32, 1, 1}},
        {"features.2.0.block.0.0.weight", {96, 16, 1, 1}},
        {"features.2.0.block.2.fc2.bias", {96}},
        {"features.2.0.block.3.1.weight", {24}},
        {"features.7.0.block.1.0.weight", {1152, 1, 3, 3}},
        {"features.8.0.weight", {1280, 320, 1, 1}},
        {"classifier.1.weight", {1000, 1280}}}},
      {"mixer",
       {{"stem.proj.weight", {768, 3, 16, 16}},
        {"blocks.0.mlp_tokens.fc1.weight", {384, 196}},
        {"blocks.11.mlp_channels.fc2.weight", {768, 3072}},
        {"norm.weight", {768}},
        {"head.bias", {1000}}}},
      {"llama",
       {{"model.embed_tokens.weight", {32000, 768}},
        {"model.layers.0.self_attn.q_proj.weight", {768, 768}},
        {"model.layers.11.self_attn.k_proj.weight", {256, 768}},
        {"model.layers.0.mlp.gate_proj.weight", {2048, 768}},
        {"model.layers.0.post_attention_layernorm.weight", {768}},
        {"model.norm.weight", {768}},
        {"lm_head.weight", {32000, 768}}}},
      {"bert",
       {{"bert.embeddings.word_embeddings.weight", {30522, 768}},
        {"bert.embeddings.token_type_embeddings.weight", {2, 768}},
        {"bert.embeddings.LayerNorm.bias", {768}},
        {"bert.encoder.layer.11.attention.self.query.weight", {768, 768}},
        {"bert.encoder.layer.0.attention.output.LayerNorm.weight", {768}},
        {"bert.encoder.layer.0.intermediate.dense.bias", {3072}},
        {"bert.encoder.layer.0.output.dense.weight", {768, 3072}},
        {"cls.predictions.transform.LayerNorm.weight", {768}},
        {"cls.predictions.bias", {30522}}}},
      {"lstm_lm",
       {{"encoder.weight", {10000, 1024}},
        {"rnn.weight_ih_l0", {4096, 1024}},
        {"rnn.bias_hh_l1", {4096}},
        {"decoder.weight", {10000, 1024}}}},
      {"unet",
       {{"inc.double_conv.0.weight", {64, 3, 3, 3}},
        {"down4.maxpool_conv.1.double_conv.3.weight", {1024, 1024, 3, 3}},
        {"up1.up.weight", {1024, 512, 2, 2}},
        {"up1.conv.double_conv.1.running_mean", {512}},
        {"outc.conv.bias", {2}}}},
  };
  for (const auto& [model, parameters] : known) {
    const auto made = make_model(model);
    for (const auto& [name, shape] : parameters) {
      const std::optional<Parameter> p = made.find(name);
      ASSERT_TRUE(p) << model << " " << name;
      EXPECT_EQ(p->type().shape, shape) << model << " " << name;
    }
  }
}

TEST(Models, AStepOfEachIsTracedWithoutMemory) {
  for (const ModelInfo& info : list_models()) {
    for (const DType compute : {DType::f32, DType::bf16}) {
      const auto model = make_model(info.name);
      const graph::Graph graph = trace_step(model, 2, compute);
      graph.verify();
      EXPECT_EQ(graph.value(graph.outputs().at(0)).type, (TensorType{DType::f32, {}}));
      // Every parameter is updated.
      const auto updates =
          std::count_if(graph.nodes().begin(), graph.nodes().end(),
                        [](const graph::Node& node) { return node.op->name == "adam_update"; });
      EXPECT_EQ(static_cast<std::size_t>(updates), model.parameters().size()) << info.name;
    }
  }
}

TEST(Models, EachRunsAndLearnsSmall) {
  const std::map<std::string, ModelOptions> small = {
      {"mlp", {.size = 6}},
      {"lenet", {.size = 8}},
      {"resnet18", {.classes = 4, .size = 32}},
      {"vit_tiny", {.classes = 4, .size = 32}},
      {"gpt2_tiny", {.size = 16}},
  };
  const Device device = test::own_cpu({.limit = GiB(2)});
  std::map<std::string, Model> models;
  for (const auto& [name, options] : small) models.emplace(name, make_model(name, options));
  models.emplace("unet", unet({.size = 16, .width = 8}));
  models.emplace("convnext",
                 convnext({.classes = 4, .size = 16, .blocks = {1, 1}, .widths = {8, 12}}));
  models.emplace("efficientnet_b0",
                 efficientnet_b0({.classes = 4, .size = 32, .dropout = 0, .drop_path = 0}));
  models.emplace("mixer",
                 mixer({.classes = 4, .size = 16, .patch = 4, .features = 16, .layers = 2}));
  models.emplace("llama", llama({.vocabulary = 20,
                                 .context = 8,
                                 .features = 24,
                                 .hidden = 16,
                                 .layers = 2,
                                 .heads = 6,
                                 .key_heads = 2,
                                 .tied = true}));
  models.emplace("bert", bert({.vocabulary = 20,
                               .context = 8,
                               .features = 24,
                               .hidden = 16,
                               .layers = 2,
                               .heads = 4,
                               .dropout = 0,
                               .padding_id = -1}));
  models.emplace("lstm_lm", lstm_lm({.vocabulary = 20,
                                     .context = 8,
                                     .features = 16,
                                     .hidden = 16,
                                     .dropout = 0,
                                     .tied = true}));
  models.emplace("dlrm", dlrm({.dense = 3,
                               .tables = 4,
                               .rows = 10,
                               .features = 8,
                               .bag = 3,
                               .bottom = {8},
                               .top = {8}}));
  for (const auto& [name, model] : models) {
    model.materialize(device, 3);
    optim::Optimizer optimizer = optim::adam({.lr = 1e-3});
    optimizer.attach(model);
    optimizer.materialize(device);
    const TensorType in = model.input_type(2);
    Tensor x = Tensor::zeros(in.shape, in.dtype, device);
    if (in.dtype == DType::f32) fill(x, Init::normal(1), "x", 1);
    const TensorType target = model.target_type(2);
    const Tensor y = Tensor::zeros(target.shape, target.dtype, device);
    float first = 0;
    float last = 0;
    for (int i = 0; i < 3; ++i) {
      optimizer.begin_step();
      last = train::training_step(model, optimizer, x, y).item<float>();
      if (i == 0) first = last;
    }
    EXPECT_LT(last, first) << name;
    model.eval();
    EXPECT_EQ(model(x).dim(0), 2) << name;
  }
}

TEST(Models, ChannelsLastComputesTheSame) {
  const Device device = test::own_cpu({.limit = GiB(1)});
  std::vector<std::vector<float>> results;
  for (const bool last : {false, true}) {
    const auto model = make_model("resnet18", {.classes = 4, .size = 32, .channels_last = last});
    model.materialize(device, 3);
    model.eval();  // statistics of two pictures would make much of rounding
    const TensorType in = model.input_type(2);
    Tensor x = Tensor::zeros(in.shape, in.dtype, device);
    fill(x, Init::normal(1), "x", 1);
    results.push_back(model(x).to_vector<float>());
  }
  ASSERT_EQ(results[0].size(), results[1].size());
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    EXPECT_NEAR(results[0][i], results[1][i], 1e-4F);
  }
}

TEST(Models, WhatCannotBeIsRefusedByName) {
  const auto message = [](std::string_view name, const ModelOptions& options) -> std::string {
    try {
      make_model(name, options);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(message("resnet19", {}), HasSubstr("no model 'resnet19'; there are mlp, lenet"));
  EXPECT_THAT(message("lenet", {.size = 3}), HasSubstr("[lenet] images of 3x3"));
  EXPECT_THAT(message("vit_tiny", {.size = 30}), HasSubstr("[vit] images of 30x30"));
  EXPECT_THAT(message("unet", {.size = 40}), HasSubstr("multiple of 16"));
  EXPECT_THAT(message("mlp", {.classes = -1}), HasSubstr("negative"));
  EXPECT_THAT(message("mixer", {.size = 30}), HasSubstr("[mixer] images of 30x30"));
  EXPECT_THAT(message("convnext_t", {.size = 16}), HasSubstr("use 32x32 or more"));
  EXPECT_THAT(message("efficientnet_b0", {.size = 16}), HasSubstr("use 32x32 or more"));
}

}  // namespace
}  // namespace plimsoll::nn

#include <plimsoll/train/checkpoint.h>

#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/language_models.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/train/safetensors.h>
#include <plimsoll/train/step.h>

#include "support/op_checks.h"
#include "support/own_device.h"

namespace plimsoll::train {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

/// A model in training, with all that persists.
struct Training {
  explicit Training(const Device& device, bool with_data = true)
      : model(nn::resnet18(3, {.channels = 1, .size = 32})),
        optimizer(optim::adamw({.lr = optim::Schedule::cosine(1e-3, 50)})) {
    if (with_data) model.materialize(device, 3);
    optimizer.attach(model);
    if (!with_data) return;
    optimizer.materialize(device);
    scale.materialize(device);
  }
  float step(const Tensor& x, const Tensor& y) {
    optimizer.begin_step();
    return training_step(model, optimizer, x, y, {.compute = f16, .loss_scale = &scale})
        .item<float>();
  }
  CheckpointParts parts() { return {&model, &optimizer, &scale}; }

  nn::Model model;
  optim::Optimizer optimizer;
  LossScale scale;
};

class Checkpoint : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  template <typename Function>
  static std::string message_of(Function function) {
    try {
      function();
    } catch (const DataError& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  Device device_ = test::own_cpu({.limit = GiB(1)});
  fs::path folder_ = fs::path(::testing::TempDir()) /
                     fmt::format("checkpoint-{}-{}", ::getpid(),
                                 ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(Checkpoint, TrainingGoesOnToTheBitWhereItWasSaved) {
  Tensor x = Tensor::empty({2, 1, 32, 32}, DType::f32, device_);
  nn::fill(x, nn::Init::normal(1), "x", 1);
  const Tensor y = Tensor::from_values({std::int64_t{0}, std::int64_t{2}}, {2}, device_);
  Training first(device_);
  for (int i = 0; i < 2; ++i) first.step(x, y);
  save_checkpoint(path("x"), first.parts(), {{"epoch", "3"}});
  std::vector<float> expected;
  for (int i = 0; i < 2; ++i) expected.push_back(first.step(x, y));

  // Into a model without data, and over one that has some.
  for (const bool with_data : {false, true}) {
    Training second(device_, with_data);
    const auto metadata = load_checkpoint(path("x"), second.parts(), device_);
    EXPECT_EQ(metadata.at("epoch"), "3");
    EXPECT_EQ(second.optimizer.step(), 2);
    for (const float loss : expected) EXPECT_EQ(second.step(x, y), loss);
  }
}

TEST_F(Checkpoint, MissingWrongAndUnexpectedTensorsAreNamed) {
  const auto save = [&](const std::vector<NamedTensor>& tensors) {
    save_safetensors(path("x"), tensors);
  };
  const auto model = nn::mlp({.in = 2, .hidden = {}, .classes = 3});
  const Tensor weight = Tensor::zeros({3, 2}, DType::f32, device_);
  const Tensor bias = Tensor::zeros({3}, DType::f32, device_);
  const auto load = [&](const LoadOptions& options = {}) {
    return message_of([&] { load_checkpoint(path("x"), {&model}, device_, options); });
  };
  save({{"fc1.weight", weight}});
  EXPECT_THAT(load(), HasSubstr("there is no tensor 'fc1.bias'"));
  save({{"fc1.weight", bias}, {"fc1.bias", bias}});
  EXPECT_THAT(load(), HasSubstr("tensor 'fc1.weight' is f32 [3], but f32 [3,2] is needed"));
  save({{"fc1.weight", weight}, {"fc1.bias", bias}, {"fc2.bias", bias}});
  EXPECT_THAT(load(), HasSubstr("nothing is called 'fc2.bias' here"));
  for (const nn::Parameter& p : model.parameters()) EXPECT_FALSE(p.has_data());
  EXPECT_EQ(load({.strict = false}), "nothing was thrown");
  for (const nn::Parameter& p : model.parameters()) EXPECT_TRUE(p.has_data());
  save({{"fc1.weight", weight},
        {"fc1.bias", bias},
        {"bn.num_batches_tracked", Tensor::zeros({}, DType::i64, device_)}});
  EXPECT_EQ(load(), "nothing was thrown");
}

TEST_F(Checkpoint, OtherFloatsAreConvertedAndPrefixesLeftOut) {
  const auto model = nn::mlp({.in = 2, .hidden = {}, .classes = 1});
  const Tensor weight = Tensor::from_values({1.5F, -2.0F}, {1, 2}, device_);
  save_safetensors(path("x"),
                   std::vector<NamedTensor>{{"weight", ops::cast(weight, DType::f16)},
                                            {"bias", Tensor::zeros({1}, DType::bf16, device_)}});
  load_checkpoint(path("x"), {&model}, device_, {.prefix = "fc1."});
  EXPECT_EQ(model.find("fc1.weight")->tensor().to_vector<float>(),
            (std::vector<float>{1.5F, -2.0F}));
}

TEST_F(Checkpoint, FilesOfBaseModelsLackAWordInFront) {
  const auto net =
      nn::gpt2({.vocabulary = 8, .context = 4, .features = 8, .layers = 1, .heads = 2});
  net.materialize(device_, 3);
  std::vector<NamedTensor> base = {
      {"h.0.attn.bias", Tensor::zeros({1, 1, 4, 4}, DType::boolean, device_)},
      {"h.0.attn.masked_bias", Tensor::zeros({}, DType::f32, device_)}};
  constexpr std::string_view kPrefix = "transformer.";
  for (const nn::Parameter& p : net.parameters()) {
    ASSERT_TRUE(p.name().starts_with(kPrefix)) << p.name();
    base.push_back({p.name().substr(kPrefix.size()), p.tensor()});
  }
  save_safetensors(path("x"), base);
  const auto other =
      nn::gpt2({.vocabulary = 8, .context = 4, .features = 8, .layers = 1, .heads = 2});
  load_checkpoint(path("x"), {&other}, device_);
  for (std::size_t i = 0; i < net.parameters().size(); ++i) {
    EXPECT_TRUE(test::same_bits(net.parameters()[i].tensor(), other.parameters()[i].tensor()));
  }
  base.pop_back();  // without one of them it is no such file
  save_safetensors(path("x"), base);
  EXPECT_THAT(message_of([&] { load_checkpoint(path("x"), {&other}, device_); }),
              HasSubstr("there is no tensor 'transformer."));
}

}  // namespace
}  // namespace plimsoll::train

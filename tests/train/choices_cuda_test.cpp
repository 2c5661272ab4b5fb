// What cuBLASLt and cuDNN chose is taken again by a run that prefers it, and gives the same bits.
#include <unistd.h>

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <plimsoll/device/choices.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/train/trainer.h>

#include "support/on_gpu.h"
#include "support/random_training.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class ChoicesOnGpu : public test::OnGpu {
 protected:
  void TearDown() override { fs::remove_all(folder_); }

  struct Result {
    std::vector<float> losses;
    Choices choices;
    std::string told;
  };
  /// Steps of a model with convolutions and products, on a device that is opened for them and
  /// prefers these choices.
  static Result run(const Choices& preferred, train::FitOptions options = {.steps = 4}) {
    const Device device = test::own_device("cuda:0", {.limit = GiB(16)});
    prefer_choices(device, preferred);
    Result result;
    ::testing::internal::CaptureStderr();
    {
      train::Trainer trainer(nn::resnet18(10, {.size = 64}), optim::sgd({.lr = 0.01}),
                             {.precision = bf16, .seed = 5});
      const auto plan = trainer.plan({.batch = 16}, device);
      options.host = test::own_cpu();
      result.losses =
          trainer.fit(plan, test::any_data(trainer.model(), 10, 96).batch(16), options).losses;
      result.choices = library_choices(device);
    }
    result.told = ::testing::internal::GetCapturedStderr();
    return result;
  }

  fs::path folder_ = fs::path(::testing::TempDir()) /
                     fmt::format("choices-{}-{}", ::getpid(),
                                 ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(ChoicesOnGpu, ThatArePreferredAreTakenAndGiveTheSameBits) {
  const Result first = run({});
  std::size_t products = 0;
  std::size_t convolutions = 0;
  for (const auto& [key, text] : first.choices) {
    products += key.starts_with("gemm") ? 1 : 0;
    convolutions += key.starts_with("conv") ? 1 : 0;
  }
  EXPECT_GT(products, 0U);
  EXPECT_GT(convolutions, 10U);
  const Result again = run(first.choices);
  EXPECT_EQ(again.losses, first.losses);
  EXPECT_EQ(again.choices, first.choices);
  EXPECT_THAT(again.told, Not(HasSubstr("[resume]")));
}

TEST_F(ChoicesOnGpu, OfOtherVersionsAreMadeAnewWithAWarning) {
  const Result first = run({});
  Choices others = first.choices;
  for (auto& [key, text] : others) text.replace(text.find(' ') + 1, 1, "0.");
  const Result again = run(others);
  EXPECT_EQ(again.choices, first.choices);
  EXPECT_EQ(again.losses, first.losses);
  EXPECT_THAT(again.told, HasSubstr("this is cuBLASLt"));
  EXPECT_THAT(again.told, HasSubstr("this is cuDNN"));
}

TEST_F(ChoicesOnGpu, ThatDoNotExistAreMadeAnewWithAWarning) {
  const Result first = run({});
  Choices others = first.choices;
  for (auto& [key, text] : others) {
    if (key.starts_with("gemm")) {
      const std::size_t at = text.find("algorithm=") + std::string("algorithm=").size();
      text.replace(at, std::string::npos, std::string(128, 'f'));
    } else if (const std::size_t engine = text.find("eng"); engine != std::string::npos) {
      text.replace(engine, std::string::npos, "eng999999");
    }
  }
  const Result again = run(others);
  EXPECT_EQ(again.choices, first.choices);
  EXPECT_EQ(again.losses, first.losses);
  EXPECT_THAT(again.told, HasSubstr("has no such algorithm here"));
  EXPECT_THAT(again.told, HasSubstr("has no such plan here"));
}

TEST_F(ChoicesOnGpu, GoThroughACheckpoint) {
  const Result whole = run({}, {.steps = 6});
  const std::string folder = folder_.string();
  const Result half = run({}, {.steps = 3, .checkpoints = folder});
  const Result rest = run({}, {.steps = 6, .checkpoints = folder, .resume = true});
  EXPECT_EQ(rest.losses, whole.losses);
  EXPECT_EQ(rest.choices, half.choices);
  EXPECT_THAT(rest.told, Not(HasSubstr("[resume]")));
}

}  // namespace
}  // namespace plimsoll

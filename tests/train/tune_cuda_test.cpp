// What cuBLASLt and cuDNN could choose instead is measured on a GPU, and a file of it gives the
// same bits every time. It compares times, so it runs alone.
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <plimsoll/data/pipeline.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/train/choices_file.h>
#include <plimsoll/train/trainer.h>

#include "support/on_gpu.h"
#include "support/random_training.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class TuneOnGpu : public test::OnGpu {
 protected:
  void SetUp() override {
    test::OnGpu::SetUp();
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static constexpr std::int64_t kBatch = 32;
  static train::Trainer trainer_for(const std::string& choices = {}) {
    return {nn::resnet18(10, {.size = 64}),
            optim::sgd({.lr = 0.01}),
            {.precision = bf16, .seed = 5, .choices = choices}};
  }

  struct Result {
    std::vector<float> losses;
    Choices taken;
    std::string told;
  };
  /// Steps on a device that is opened for them.
  static Result run(const std::string& choices, train::FitOptions options = {.steps = 4}) {
    const Device device = test::own_device("cuda:0", {.limit = GiB(16)});
    Result result;
    ::testing::internal::CaptureStderr();
    {
      train::Trainer trainer = trainer_for(choices);
      const auto plan = trainer.plan({.batch = kBatch}, device);
      options.host = test::own_cpu();
      result.losses =
          trainer.fit(plan, test::any_data(trainer.model(), 10, 6 * kBatch).batch(kBatch), options)
              .losses;
      result.taken = library_choices(device);
    }
    result.told = ::testing::internal::GetCapturedStderr();
    return result;
  }

  fs::path folder_ = fs::path(::testing::TempDir()) /
                     fmt::format("tune-cuda-{}-{}", ::getpid(),
                                 ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(TuneOnGpu, MeasuresWhatTheLibrariesOfferAndTrainsWithIt) {
  const std::string path = (folder_ / "choices.json").string();
  train::TuneResult result;
  {
    const Device device = test::own_device("cuda:0", {.limit = GiB(16)});
    const Device host = test::own_cpu();
    train::Trainer trainer = trainer_for();
    const auto plan = trainer.plan({.batch = kBatch}, device);
    data::Pipeline pipeline(test::any_data(trainer.model(), 10, kBatch).batch(kBatch), host, {});
    const data::Element batch = *pipeline.next();
    result = trainer.tune(plan, batch, {.seconds = 120});
    train::write_choices(path, train::choices_file(device, result.choices));
  }
  std::size_t products = 0;
  std::size_t convolutions = 0;
  std::int64_t measured = 0;
  for (const train::TunedChoice& each : result.tuned) {
    products += each.key.starts_with("gemm") ? 1 : 0;
    convolutions += each.key.starts_with("conv") ? 1 : 0;
    measured += each.measured;
    EXPECT_GT(each.tasks, 0) << each.key;
    EXPECT_GT(each.rule_seconds, 0) << each.key;
    EXPECT_LE(each.chosen_seconds, each.rule_seconds) << each.key;
    EXPECT_EQ(result.choices.at(each.key), each.chosen);
    fmt::print("{:9.1f} us {:9.1f} us  {}  {}\n", each.rule_seconds * 1e6,
               each.chosen_seconds * 1e6, each.task, each.key);
  }
  fmt::print("a step: {:.1f} us by the rules, {:.1f} us as chosen\n",
             result.rule_step_seconds * 1e6, result.chosen_step_seconds * 1e6);
  EXPECT_GT(products, 0U);
  EXPECT_GT(convolutions, 10U);
  EXPECT_GT(measured, static_cast<std::int64_t>(result.tuned.size()));
  EXPECT_LE(result.chosen_step_seconds, 1.05 * result.rule_step_seconds);

  const Result tuned = run(path);
  const Result again = run(path);
  EXPECT_EQ(tuned.told, "") << "everything in the file can be had";
  EXPECT_EQ(again.losses, tuned.losses);
  for (const auto& [key, text] : result.choices) EXPECT_EQ(tuned.taken.at(key), text);

  // A run goes on with what its checkpoint has, without the file.
  const std::string folder = (folder_ / "run").string();
  const Result whole = run(path, {.steps = 6});
  (void)run(path, {.steps = 3, .checkpoints = folder});
  const Result rest = run("", {.steps = 6, .checkpoints = folder, .resume = true});
  EXPECT_EQ(rest.losses, whole.losses);
}

TEST_F(TuneOnGpu, AFileOfOtherVersionsIsNotUsed) {
  const Result by_rule = run("");
  const std::string path = (folder_ / "choices.json").string();
  {
    const Device device = test::own_device("cuda:0", {.limit = GiB(16)});
    train::ChoicesFile file = train::choices_file(device, by_rule.taken);
    file.libraries = "cuBLASLt 1.0.0, cuDNN 1.0.0";
    train::write_choices(path, file);
  }
  const Result other = run(path);
  EXPECT_THAT(other.told, HasSubstr("is not used: it was measured with cuBLASLt 1.0.0"));
  EXPECT_EQ(other.losses, by_rule.losses);
}

}  // namespace
}  // namespace plimsoll

// Trainer::tune measures what a device's libraries could choose instead, and a trainer that is
// given the file takes it.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <plimsoll/data/pipeline.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/train/choices_file.h>
#include <plimsoll/train/trainer.h>

#include "support/choosing_backend.h"
#include "support/own_device.h"
#include "support/toy_training.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using test::ChoosingDevice;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

constexpr std::int64_t kBatch = 64;

class Tune : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  static train::Trainer trainer_for(const train::TrainerOptions& options = {}) {
    return {nn::mlp({.in = 96, .hidden = {128, 64}, .classes = 10}), optim::sgd({.lr = 0.05}),
            options};
  }

  static data::Dataset toy(std::int64_t batches) {
    return test::toy_data(batches * kBatch, 96, 10).batch(kBatch);
  }

  static data::Element batch(const Device& host) {
    data::Pipeline pipeline(toy(1), host, {});
    return *pipeline.next();
  }

  /// Tunes one step on `backend`.
  static train::TuneResult tune(const std::shared_ptr<ChoosingDevice>& backend,
                                const train::TuneOptions& options = {.seconds = 60},
                                const train::TrainerOptions& with = {}) {
    const Device device = test::open_choosing(backend, MiB(64));
    const Device host = test::own_cpu({.limit = MiB(64)});
    train::Trainer trainer = trainer_for(with);
    const auto plan = trainer.plan({.batch = kBatch}, device);
    return trainer.tune(plan, batch(host), options);
  }

  /// Losses of a run with these choices, on a device that is opened for it.
  struct Run {
    std::vector<float> losses;
    Choices taken;
    std::string told;
    std::string checkpoint;
  };
  static Run run(
      const std::string& choices, train::FitOptions options = {.steps = 4},
      const std::shared_ptr<ChoosingDevice>& backend = std::make_shared<ChoosingDevice>()) {
    const Device device = test::open_choosing(backend, MiB(64));
    Run result;
    ::testing::internal::CaptureStderr();
    {
      train::Trainer trainer = trainer_for({.choices = choices});
      options.host = test::own_cpu({.limit = MiB(64)});
      const auto fitted = trainer.fit(trainer.plan({.batch = kBatch}, device), toy(8), options);
      result.losses = fitted.losses;
      result.checkpoint = fitted.checkpoint;
      result.taken = library_choices(device);
    }
    result.told = ::testing::internal::GetCapturedStderr();
    return result;
  }

  /// What tune() found on `backend`, as a file.
  std::string tuned_file(const std::shared_ptr<ChoosingDevice>& backend) const {
    backend->own_clock = true;
    const Device device = test::open_choosing(backend, MiB(64));
    const std::string path = (folder_ / "choices.json").string();
    train::write_choices(path, train::choices_file(device, tune(backend).choices));
    return path;
  }

  fs::path folder_ = fs::path(::testing::TempDir()) /
                     fmt::format("tune-{}-{}", ::getpid(),
                                 ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(Tune, TakesWhateverIsFastest) {
  // The rule is the first; the last cannot be had.
  for (const std::vector<int>& work : {std::vector{6, 2, 12, 0}, {6, 12, 2, 0}, {6, 0, 12, 2}}) {
    const auto backend = std::make_shared<ChoosingDevice>();
    backend->work = work;
    const auto fastest = static_cast<std::size_t>(std::ranges::find(work, 2) - work.begin());
    const train::TuneResult result = tune(backend);
    EXPECT_TRUE(result.finished);
    EXPECT_THAT(result.tuned, SizeIs(::testing::Ge(4U))) << "products of three layers";
    for (const train::TunedChoice& each : result.tuned) {
      EXPECT_EQ(each.rule, backend->algorithm(0)) << each.key;
      EXPECT_EQ(each.chosen, backend->algorithm(fastest)) << each.key;
      EXPECT_EQ(each.measured, 2) << each.key;
      EXPECT_LT(each.chosen_seconds, each.rule_seconds * 0.97) << each.key;
      EXPECT_THAT(each.task, HasSubstr("matmul f32 ["));
      EXPECT_EQ(result.choices.at(each.key), each.chosen);
    }
    EXPECT_LT(result.chosen_step_seconds, result.rule_step_seconds);
    EXPECT_EQ(backend->table.all(), result.choices) << "it is what the device takes from then on";
    EXPECT_FALSE(backend->table.exploring());
  }
}

TEST_F(Tune, KeepsTheRulesChoiceUnlessAnotherIsFasterByMoreThanNoise) {
  // By a clock that is wrong by up to 2%: the rule's is the fastest, all are equal, or one is 1%
  // faster.
  for (const std::vector<int>& work : {std::vector{2, 6, 12}, {4, 4, 4}, {100, 99, 101}}) {
    const auto backend = std::make_shared<ChoosingDevice>();
    backend->work = work;
    backend->own_clock = true;
    backend->noise = 0.02;
    for (const train::TunedChoice& each : tune(backend).tuned) {
      EXPECT_FALSE(each.changed()) << each.key;
      EXPECT_EQ(each.chosen_seconds, each.rule_seconds);
    }
  }
  const auto backend = std::make_shared<ChoosingDevice>();
  backend->work = {100, 97, 95};
  backend->own_clock = true;
  backend->noise = 0.02;
  for (const train::TunedChoice& each : tune(backend).tuned) {
    EXPECT_EQ(each.chosen, backend->algorithm(2)) << each.key;
  }
}

TEST_F(Tune, MeasuresEachKeyByItself) {
  const auto backend = std::make_shared<ChoosingDevice>();
  backend->work = {6, 2, 4, 12};
  backend->alternates = true;
  backend->own_clock = true;
  const train::TuneResult result = tune(backend);
  std::size_t opposite = 0;
  for (const train::TunedChoice& each : result.tuned) {
    const bool turned = each.key.size() % 2 == 1;
    opposite += turned ? 1 : 0;
    EXPECT_EQ(each.chosen, backend->algorithm(turned ? 2 : 1)) << each.key;
  }
  EXPECT_GT(opposite, 0U);
  EXPECT_LT(opposite, result.tuned.size());
}

TEST_F(Tune, TellsKeysOfOneTaskApart) {
  // Half of each product's time is another key's; the two have their algorithms in opposite orders.
  const auto backend = std::make_shared<ChoosingDevice>();
  backend->work = {6, 2, 4, 12};
  backend->alternates = true;
  backend->halves = true;
  backend->own_clock = true;
  backend->noise = 0.01;
  const train::TuneResult result = tune(backend);
  EXPECT_TRUE(result.finished);
  for (const train::TunedChoice& each : result.tuned) {
    const bool turned = each.key.size() % 2 == 1;
    EXPECT_EQ(each.chosen, backend->algorithm(turned ? 2 : 1)) << each.key;
    EXPECT_EQ(each.measured, 3);
  }
}

TEST_F(Tune, CountsAllPartsOfABatchThatIsSplit) {
  const auto backend = std::make_shared<ChoosingDevice>();
  backend->own_clock = true;
  const train::TuneResult result = tune(backend, {.seconds = 60}, {.accumulate = 4});
  ASSERT_FALSE(result.tuned.empty());
  for (const train::TunedChoice& each : result.tuned) {
    EXPECT_THAT(each.key, HasSubstr("f32 [16,")) << "a quarter of the batch";
    EXPECT_EQ(each.chosen, backend->algorithm(1)) << each.key;
    EXPECT_EQ(each.tasks % 4, 0) << each.key;
  }
}

TEST_F(Tune, EndsInTimeAndSaysWhatWasNotMeasured) {
  const auto backend = std::make_shared<ChoosingDevice>();
  std::vector<train::TuneProgress> told;
  const train::TuneResult none =
      tune(backend, {.seconds = 1e-9, .progress = [&](const auto& now) { told.push_back(now); }});
  EXPECT_FALSE(none.finished);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].rounds, 1);
  EXPECT_EQ(told[0].keys, static_cast<std::int64_t>(none.tuned.size()));
  for (const train::TunedChoice& each : none.tuned) {
    EXPECT_EQ(each.measured, 0);
    EXPECT_FALSE(each.changed());
    EXPECT_GT(each.rule_seconds, 0);
  }
  const train::TuneResult one = tune(backend, {.seconds = 60, .alternatives = 1});
  EXPECT_TRUE(one.finished) << "that is all that was asked for";
  for (const train::TunedChoice& each : one.tuned) EXPECT_EQ(each.measured, 1);
}

TEST_F(Tune, RefusesWhatCannotBeMeasured) {
  const Device cpu = test::own_cpu({.limit = MiB(64)});
  train::Trainer trainer = trainer_for();
  const auto plan = trainer.plan({.batch = kBatch}, cpu);
  EXPECT_THAT([&] { (void)trainer.tune(plan, batch(cpu)); },
              ThrowsMessage<InvalidArgument>(HasSubstr("cpu:0: its kernels leave no choice")));
  const auto backend = std::make_shared<ChoosingDevice>();
  const Device device = test::open_choosing(backend, MiB(64));
  const auto half = trainer.plan({.batch = kBatch / 2}, device);
  EXPECT_THAT([&] { (void)trainer.tune(half, batch(cpu)); },
              ThrowsMessage<InvalidArgument>(HasSubstr("has 64 elements, the plan is for 32")));
  EXPECT_THAT([&] { (void)trainer.tune(half, batch(cpu), {.seconds = 0}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("must be above 0")));
  EXPECT_FALSE(backend->table.exploring());
}

TEST_F(Tune, ATrainerGoesOnAfterwards) {
  const auto backend = std::make_shared<ChoosingDevice>();
  const Device device = test::open_choosing(backend, MiB(64));
  const Device host = test::own_cpu({.limit = MiB(64)});
  train::Trainer trainer = trainer_for({.precision = f16, .moving_average = 0.9});
  const auto plan = trainer.plan({.batch = kBatch}, device);
  const data::Element element = batch(host);
  trainer.step(plan, element[0].tensor(), element[1].tensor());
  const Bytes used = device.budget().used();
  const train::TuneResult result = trainer.tune(plan, element);
  EXPECT_EQ(device.budget().used(), used) << "measuring takes nothing";
  trainer.step(plan, element[0].tensor(), element[1].tensor());
  EXPECT_TRUE(std::isfinite(trainer.loss()));
  EXPECT_EQ(library_choices(device), result.choices);
}

TEST_F(Tune, TheSameChoicesGiveTheSameBits) {
  const std::string file = tuned_file(std::make_shared<ChoosingDevice>());
  const Run by_rule = run("");
  const Run tuned = run(file);
  const Run again = run(file);
  EXPECT_NE(tuned.losses, by_rule.losses) << "other algorithms round otherwise";
  EXPECT_EQ(again.losses, tuned.losses);
  EXPECT_EQ(again.taken, tuned.taken);
  for (const auto& [key, text] : train::read_choices(file).choices) {
    EXPECT_EQ(tuned.taken.at(key), text);
  }
  EXPECT_EQ(tuned.told, "");
}

TEST_F(Tune, ARunGoesOnWithTheChoicesOfItsCheckpoint) {
  const std::string file = tuned_file(std::make_shared<ChoosingDevice>());
  const std::string folder = (folder_ / "run").string();
  const Run whole = run(file, {.steps = 6});
  (void)run(file, {.steps = 3, .checkpoints = folder});
  fs::copy(folder, folder + "-2", fs::copy_options::recursive);
  // Without the file, and with another, which has something else for every key.
  train::ChoicesFile other = train::read_choices(file);
  const ChoosingDevice device;
  for (auto& [key, text] : other.choices) text = device.algorithm(2);
  const std::string others = (folder_ / "other.json").string();
  train::write_choices(others, other);
  const Run rest = run("", {.steps = 6, .checkpoints = folder, .resume = true});
  EXPECT_EQ(rest.losses, whole.losses);
  EXPECT_EQ(rest.taken, whole.taken);
  const Run with = run(others, {.steps = 6, .checkpoints = folder + "-2", .resume = true});
  EXPECT_EQ(with.losses, whole.losses);
  EXPECT_EQ(with.told, "");
  EXPECT_NE(run(others).losses, run(file).losses) << "the file that lost would have told";
}

TEST_F(Tune, AFileThatDoesNotFitIsNotUsedAndSaysWhy) {
  const ChoosingDevice here;
  const std::string path = (folder_ / "choices.json").string();
  const auto write = [&](const std::string& libraries, const std::string& text) {
    Choices choices = run("").taken;
    for (auto& [key, choice] : choices) choice = text;
    train::write_choices(path, {.backend = "chooser",
                                .device = here.info().description,
                                .libraries = libraries,
                                .choices = choices});
  };
  const Run by_rule = run("");
  write("Products 2.0", here.algorithm(1));
  const Run other = run(path);
  EXPECT_THAT(other.told, AllOf(HasSubstr(path + " is not used: it was measured with Products 2.0"),
                                HasSubstr("plimsoll tune")));
  EXPECT_EQ(other.losses, by_rule.losses);
  // An algorithm that the device does not have, and one that nobody knows.
  for (const std::string& text : {here.algorithm(3), std::string("something")}) {
    write("Products 1.0", text);
    const Run gone = run(path);
    EXPECT_THAT(gone.told, HasSubstr("cannot have the choices file's '" + text + "'"));
    EXPECT_EQ(gone.losses, by_rule.losses);
    EXPECT_EQ(gone.taken, by_rule.taken);
  }
  // Keys of other shapes.
  train::write_choices(path, {.backend = "chooser", .choices = {{"product", here.algorithm(1)}}});
  const Run strange = run(path);
  EXPECT_THAT(strange.told, HasSubstr("has nothing for this step: none of its 1 keys"));
  EXPECT_EQ(strange.losses, by_rule.losses);
}

TEST_F(Tune, AFileHoldsForWhatACheckpointDoesNotHave) {
  const std::string file = tuned_file(std::make_shared<ChoosingDevice>());
  const std::string folder = (folder_ / "run").string();
  // A run by the rule, whose checkpoint has its choices; other keys are free.
  (void)run("", {.steps = 3, .checkpoints = folder});
  train::ChoicesFile more = train::read_choices(file);
  const ChoosingDevice device;
  more.choices["product of a remainder"] = device.algorithm(2);
  train::write_choices(file, more);
  const Run rest = run(file, {.steps = 6, .checkpoints = folder, .resume = true});
  EXPECT_EQ(rest.losses, run("", {.steps = 6}).losses);
  EXPECT_EQ(rest.taken.at("product of a remainder"), device.algorithm(2));
}

}  // namespace
}  // namespace plimsoll

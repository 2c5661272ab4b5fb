// Where the driver hides what a process uses, whoever reads a plan or a log is told. No GPU is
// needed: a backend says that its driver does.

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/nn/models.h>
#include <plimsoll/train/trainer.h>

#include "device/device_state.h"
#include "device/fake_backend.h"
#include "support/toy_training.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Bytes kRuntime = MiB(4);

/// Its memory is the host's, where the CPU's kernels can reach it.
class Computing final : public FakeBackend {
 public:
  explicit Computing(UsageSource source) : FakeBackend(MiB(64), kRuntime) {
    used = {MiB(5), source};
  }
  DeviceInfo info() const override {
    DeviceInfo info = FakeBackend::info();
    info.name = "cpu:3";
    return info;
  }
};

Device open(UsageSource source) {
  return Device::State::open(std::make_shared<Computing>(source), {});
}

train::Trainer make_trainer() {
  return train::Trainer(nn::mlp({.in = 16, .hidden = {32}, .classes = 4}), optim::sgd({.lr = 0.1}));
}

std::vector<nlohmann::json> log_of(const Device& device) {
  const fs::path path = fs::temp_directory_path() / fmt::format("plimsoll_usage_{}", ::getpid());
  {
    train::Trainer trainer = make_trainer();
    const auto plan = trainer.plan({.batch = 8}, device);
    RunLog log(path.string());
    trainer.fit(plan, test::toy_data(16).batch(8), {.steps = 1, .log = &log});
  }
  std::vector<nlohmann::json> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  fs::remove(path);
  return lines;
}

const std::string kNote(usage_note(UsageSource::free_memory));

/// A text without its line breaks: lines are wrapped.
std::string in_one_line(const std::string& text) {
  return std::regex_replace(text, std::regex("\\n +"), " ");
}

TEST(Usage, OnlyWhatOthersShowInHasANote) {
  EXPECT_THAT(kNote, HasSubstr("hides"));
  EXPECT_EQ(usage_note(UsageSource::process), "");
  EXPECT_EQ(usage_note(UsageSource::unknown), "");
}

TEST(Usage, ADeviceTellsItsFiguresAndWhereTheyAreFrom) {
  const Device hidden = open(UsageSource::free_memory);
  EXPECT_EQ(hidden.use().bytes, MiB(5));
  EXPECT_EQ(hidden.use().source, UsageSource::free_memory);
  EXPECT_FALSE(hidden.process_used());
  EXPECT_EQ(hidden.info().usage, UsageSource::free_memory);
  EXPECT_EQ(hidden.session("part").device().info().usage, UsageSource::free_memory);
  EXPECT_EQ(open(UsageSource::process).process_used(), MiB(5));
}

TEST(Usage, APlanSaysThatTheDriverHides) {
  const auto plan = make_trainer().plan({.batch = 8}, open(UsageSource::free_memory));
  EXPECT_THAT(in_one_line(plan.explain()), HasSubstr(kNote));
  const auto json = nlohmann::json::parse(plan.to_json());
  EXPECT_EQ(json["usage"], "free memory");
  EXPECT_EQ(json["note"], kNote);
}

TEST(Usage, APlanSaysNothingWhereTheDriverTells) {
  const auto plan = make_trainer().plan({.batch = 8}, open(UsageSource::process));
  EXPECT_THAT(in_one_line(plan.explain()), Not(HasSubstr(kNote)));
  const auto json = nlohmann::json::parse(plan.to_json());
  EXPECT_EQ(json["usage"], "process");
  EXPECT_TRUE(json["note"].is_null());
}

TEST(Usage, TheRuntimeOfADeviceThatIsNotHereIsAnAssumption) {
  const auto plan = make_trainer().plan({.batch = 8}, plan::describe_device("h200"));
  EXPECT_THAT(in_one_line(plan.explain()),
              HasSubstr("runtime 640 MiB is an assumed margin: h200 was not opened"));
  EXPECT_EQ(nlohmann::json::parse(plan.to_json())["usage"], "unknown");
  // The CPU has none to assume.
  EXPECT_THAT(
      in_one_line(make_trainer().plan({.batch = 8}, plan::describe_device("cpu")).explain()),
      Not(HasSubstr("assumed")));
}

TEST(Usage, TheRunLogSaysSoOnceAndOnlyThen) {
  int notes = 0;
  for (const auto& line : log_of(open(UsageSource::free_memory))) {
    if (line["event"] == "begin") {
      EXPECT_EQ(line["usage"], "free memory");
    }
    if (line["event"] != "note") continue;
    ++notes;
    EXPECT_EQ(line["text"], kNote);
  }
  EXPECT_EQ(notes, 1);
  for (const auto& line : log_of(open(UsageSource::process))) EXPECT_NE(line["event"], "note");
}

}  // namespace
}  // namespace plimsoll

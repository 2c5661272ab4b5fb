#include <plimsoll/report/run.h>

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/report/html.h>

#include "report/sample_log.h"

namespace plimsoll::report {
namespace {

using test::sample_log;

std::string without_line(const std::string& log, const std::string& part) {
  const std::size_t at = log.find(part);
  const std::size_t begin = log.rfind('\n', at) + 1;
  return log.substr(0, begin) + log.substr(log.find('\n', at) + 1);
}

TEST(Run, IsReadFromItsLog) {
  const report::Run run = read_run_log(sample_log(), "sample");
  EXPECT_EQ(run.state, RunState::finished);
  EXPECT_EQ(run.format, 2);
  EXPECT_EQ(run.problem_count, 0);
  ASSERT_EQ(run.steps.size(), 3U);
  EXPECT_EQ(run.steps[1].loss, 1.5);
  EXPECT_EQ(run.steps[1].used, 5242880U);
  EXPECT_EQ(run.steps[2].accuracy, 0.75);
  ASSERT_EQ(run.devices.size(), 1U);
  ASSERT_EQ(run.devices[0].memory.size(), 3U);
  EXPECT_EQ(run.devices[0].peak.used, 6291456U) << "more than any sample has";
  ASSERT_EQ(run.devices[0].peak.held.size(), 2U);
  EXPECT_EQ(run.holders[run.devices[0].peak.held[1].holder].label, "step");
  ASSERT_EQ(run.plans.size(), 1U);
  ASSERT_EQ(run.plans[0].op_seconds.size(), 2U);
  EXPECT_TRUE(std::isnan(run.plans[0].op_seconds[1]));
  EXPECT_EQ(run.options.at("optimizer"), "adam");
  EXPECT_EQ(run.options.at("batch"), "32");
  EXPECT_EQ(run.verdict(),
            "kept 6 MiB of 8 MiB; planned peak 3.8 MiB, measured the same to the byte");
}

TEST(Run, ThatWasKilledHasEverythingUpToThen) {
  const std::string log = sample_log();
  const report::Run run = read_run_log(log.substr(0, log.find("\"step\":3") - 20));
  EXPECT_EQ(run.state, RunState::killed);
  EXPECT_EQ(run.steps.size(), 2U);
  ASSERT_EQ(run.problem_count, 1);
  EXPECT_EQ(run.problems[0].what, "the last line is cut off");
}

TEST(Run, ThatWasRefusedSaysWhy) {
  const report::Run run = read_run_log(
      "{\"time\":0,\"event\":\"run\",\"format\":2,\"began\":1}\n"
      "{\"time\":1,\"event\":\"refused\",\"message\":\"smallest budget: 4 "
      "MiB\",\"exit_code\":3}\n");
  EXPECT_EQ(run.state, RunState::refused);
  EXPECT_EQ(run.ending, "smallest budget: 4 MiB");
  EXPECT_EQ(run.problem_count, 0);
}

TEST(Run, ThatWasResumedIsOne) {
  std::string log = sample_log();
  log.resize(log.find("{\"time\":0.3,"));  // killed after step 2
  log +=
      "{\"time\":0,\"event\":\"run\",\"format\":2,\"began\":5000,\"pid\":8}\n"
      "{\"time\":0.1,\"event\":\"begin\",\"device\":\"cpu:0\",\"budget\":8388608,\"step\":1}\n"
      "{\"time\":0.2,\"event\":\"holder\",\"id\":0,\"device\":\"cpu:0\",\"budget\":\"b\",\"tag\":"
      "\"user\",\"label\":\"other\"}\n"
      "{\"time\":0.2,\"event\":\"memory\",\"device\":\"cpu:0\",\"used\":5,\"limit\":9,\"holders\":"
      "[0,5]}\n"
      "{\"time\":0.5,\"event\":\"step\",\"step\":2,\"loss\":1.25}\n";
  const report::Run run = read_run_log(log);
  EXPECT_EQ(run.parts, 2);
  EXPECT_EQ(run.state, RunState::killed);
  ASSERT_EQ(run.steps.size(), 2U) << "step 2 was done again";
  EXPECT_EQ(run.steps[1].loss, 1.25);
  EXPECT_GT(run.steps[1].time, 0.5) << "after the first part";
  EXPECT_LT(run.steps[1].time, 1.0) << "the pause does not count";
  const RunMemory& last = run.devices[0].memory.back();
  EXPECT_EQ(run.holders[last.held[0].holder].label, "other") << "numbers are those of the part";
  EXPECT_EQ(run.problem_count, 0);
}

TEST(Run, IsTheLastOfItsFile) {
  const std::string refused =
      "{\"time\":0,\"event\":\"run\",\"format\":2}\n{\"time\":0,\"event\":\"refused\"}\n";
  const report::Run after = read_run_log(refused + sample_log());
  EXPECT_EQ(after.state, RunState::finished);
  EXPECT_EQ(after.earlier, 1);
  EXPECT_EQ(after.parts, 1);
  const report::Run before = read_run_log(sample_log() + sample_log() + refused);
  EXPECT_EQ(before.state, RunState::refused);
  EXPECT_EQ(before.earlier, 2);
  EXPECT_TRUE(before.steps.empty());
}

TEST(Run, OfTheFirstFormatIsRead) {
  const report::Run run = read_run_log(
      "{\"time\":0.1,\"event\":\"begin\",\"device\":\"cpu:0\",\"budget\":8388608,\"step\":0}\n"
      "{\"time\":0.2,\"event\":\"step\",\"step\":1,\"loss\":2.5,\"used\":100}\n"
      "{\"time\":0.3,\"event\":\"end\",\"steps\":1,\"stopped\":\"interrupted\"}\n");
  EXPECT_EQ(run.format, 0);
  EXPECT_EQ(run.state, RunState::stopped);
  EXPECT_EQ(run.ending, "interrupted");
  EXPECT_EQ(run.steps.size(), 1U);
}

TEST(Run, NamesLinesThatAreDamagedAndShowsTheOthers) {
  std::string log = sample_log();
  log.replace(log.find("\"event\":\"step\",\"step\":2"), 8, "\"ev\x01nt\"");
  const report::Run run = read_run_log(log);
  EXPECT_EQ(run.steps.size(), 2U);
  ASSERT_EQ(run.problem_count, 1);
  EXPECT_EQ(run.problems[0].line, 10);
  EXPECT_EQ(run.state, RunState::finished);

  const report::Run missing =
      read_run_log(without_line(sample_log(), "\"event\":\"holder\",\"id\":1"));
  ASSERT_EQ(missing.problem_count, 1) << "once, however often it is named";
  EXPECT_EQ(missing.problems[0].what, "the line that names holder 1 is missing");
}

TEST(Run, OfALaterFormatIsReadAsFarAsItIsKnown) {
  std::string log = sample_log();
  log.replace(log.find("\"format\":2"), 10, "\"format\":9");
  const report::Run run = read_run_log(log);
  EXPECT_EQ(run.steps.size(), 3U);
  EXPECT_EQ(run.problem_count, 1);
}

TEST(Run, IsEmptyWhereTheLogIs) {
  EXPECT_EQ(read_run_log("").state, RunState::empty);
  EXPECT_EQ(read_run_log("\n\n").state, RunState::empty);
  EXPECT_EQ(read_run_log("hello\n").problem_count, 1);
  const std::string deep(100'000, '[');
  EXPECT_EQ(read_run_log("{\"time\":0,\"event\":" + deep + "\n").problem_count, 1);
}

TEST(Run, NamesAFileThatIsNotThere) {
  EXPECT_THROW(read_run("/no/such/log"), DataError);
  EXPECT_THROW(read_run("/proc"), DataError);
}

TEST(Run, SurvivesTwentyThousandMutations) {
  constexpr std::uint64_t kSeed = 21;
  std::mt19937_64 random(kSeed);
  const std::string whole = sample_log();
  for (int i = 0; i < 20'000; ++i) {
    std::string log = whole;
    const int changes = 1 + static_cast<int>(random() % 6);
    for (int c = 0; c < changes && !log.empty(); ++c) {
      const std::size_t at = random() % log.size();
      switch (random() % 6) {
        case 0:
          log[at] = static_cast<char>(random() % 256);
          break;
        case 1:
          log.erase(at, 1 + random() % 40);
          break;
        case 2:
          log.insert(at, log.substr(random() % log.size(), random() % 60));
          break;
        case 3:
          log.resize(at + 1);
          break;
        case 4:
          log.insert(at, 1, "[]{}\",:\\0-9eE.\n\xff"[random() % 17]);
          break;
        default:
          log.replace(at, 1, std::to_string(random() >> (random() % 64)));
          break;
      }
    }
    const report::Run run = read_run_log(log);
    for (const RunDevice& device : run.devices) {
      for (const RunMemory& memory : device.memory) {
        for (const RunHeld& held : memory.held) ASSERT_LT(held.holder, run.holders.size());
      }
    }
    if (i % 10 == 0) {
      ASSERT_EQ(html_data({&run, 1}).find('<'), std::string::npos)
          << "seed " << kSeed << ", mutation " << i;
    }
  }
}

}  // namespace
}  // namespace plimsoll::report

// What pipelines choose from how long they wait. Beside other programs the consumer may wait all
// the time, whatever is chosen.

#include <chrono>

#include <gmock/gmock.h>

#include "data/pipeline_support.h"

namespace plimsoll::data::testing {
namespace {

using Clock = std::chrono::steady_clock;

void spend(std::chrono::microseconds time) {
  const auto until = Clock::now() + time;
  while (Clock::now() < until) {
  }
}

std::string setting_of(const Pipeline& pipeline, const std::string& stage) {
  for (const StageStats& each : pipeline.stats()) {
    if (each.stage.starts_with(stage)) return each.setting;
  }
  return "no such stage";
}

TEST(Autotune, AConsumerThatIsSlowerLeavesAMapWithFewerThreads) {
  const Device device = host();
  Pipeline pipeline(
      Dataset::range(4).repeat().map(plus(1), {.parallel = kAutotune}).batch(4).prefetch(), device,
      {.threads = 4});
  // On a machine that is busy it may take a while until the consumer never waits.
  const auto until = Clock::now() + std::chrono::seconds(60);
  while (setting_of(pipeline, "map") == "4 threads" && Clock::now() < until) {
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(pipeline.next());
      spend(std::chrono::microseconds(5'000));
    }
  }
  EXPECT_THAT(setting_of(pipeline, "map"), ::testing::HasSubstr(" of 4 threads"));
  EXPECT_THAT(setting_of(pipeline, "prefetch"), ::testing::HasSubstr("ahead"));
}

TEST(Autotune, AMapThatTheConsumerWaitsForHasAllThreads) {
  const Device device = host();
  const auto slow = [](const Element& element) {
    spend(std::chrono::microseconds(500));
    return element;
  };
  Pipeline pipeline(
      Dataset::range(1'000'000).map(slow, {.parallel = kAutotune}).batch(4).prefetch(), device,
      {.threads = 4});
  const auto until = Clock::now() + std::chrono::milliseconds(600);
  while (Clock::now() < until) ASSERT_TRUE(pipeline.next());
  EXPECT_EQ(setting_of(pipeline, "map"), "4 threads");
}

}  // namespace
}  // namespace plimsoll::data::testing

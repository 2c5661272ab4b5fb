#include <plimsoll/base/log_sink.h>

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/log.h>

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(LogSink, GetsEveryMessageInPlaceOfStderr) {
  std::vector<std::pair<LogLevel, std::string>> got;
  set_log_sink([&](LogLevel level, std::string_view text) { got.emplace_back(level, text); });
  ::testing::internal::CaptureStderr();
  log_debug("one");
  log_info("two");
  log_warning("three {not a format}");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  set_log_sink(nullptr);
  EXPECT_THAT(got, ElementsAre(Pair(LogLevel::debug, "one"), Pair(LogLevel::info, "two"),
                               Pair(LogLevel::warning, "three {not a format}")));
}

TEST(LogSink, StderrIsBackWithoutOne) {
  set_log_sink([](LogLevel, std::string_view) {});
  set_log_sink(nullptr);
  ::testing::internal::CaptureStderr();
  log_warning("again");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("again"));
}

}  // namespace
}  // namespace plimsoll

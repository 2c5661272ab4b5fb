#include <plimsoll/base/log.h>

#include <stdlib.h>

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

/// Logs once at each level under PLIMSOLL_LOG=`level` and exits; run in a process of its own.
[[noreturn]] void log_all(const char* level) {
  if (level == nullptr) {
    unsetenv("PLIMSOLL_LOG");
  } else {
    setenv("PLIMSOLL_LOG", level, 1);
  }
  log_debug("one {not a format}");
  log_info("two");
  log_warning("three");
  _exit(0);
}

class LogDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(LogDeathTest, ShowsWarningsByDefault) {
  EXPECT_EXIT(log_all(nullptr), testing::ExitedWithCode(0), "^plimsoll: warning: three\n$");
}

TEST_F(LogDeathTest, TheEnvironmentChoosesTheLevel) {
  EXPECT_EXIT(log_all("off"), testing::ExitedWithCode(0), "^$");
  EXPECT_EXIT(log_all("info"), testing::ExitedWithCode(0), "info: two\nplimsoll: warning: three");
  EXPECT_EXIT(log_all("debug"), testing::ExitedWithCode(0),
              "debug: one .not a format.\nplimsoll: info: two");
}

TEST_F(LogDeathTest, AnUnknownLevelIsNamed) {
  EXPECT_EXIT(log_all("loud"), testing::ExitedWithCode(0), "\"loud\"(.|\n)*three");
}

}  // namespace
}  // namespace plimsoll

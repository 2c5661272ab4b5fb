#include <plimsoll/base/text.h>

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(Text, DurationsHaveThreeDigitsAndTheUnitPeopleUse) {
  EXPECT_EQ(format_duration(1.27), "1.27 s");
  EXPECT_EQ(format_duration(0.000308), "308 us");
  EXPECT_EQ(format_duration(0.0008249), "825 us");
  EXPECT_EQ(format_duration(0.01234), "12.3 ms");
  EXPECT_EQ(format_duration(3.2e-9), "3.20 ns");
  EXPECT_EQ(format_duration(0), "0 s");
  EXPECT_EQ(format_duration(59.9), "59.9 s");
}

TEST(Text, DurationsRoundIntoTheNextUnit) {
  EXPECT_EQ(format_duration(0.9996), "1.00 s");
  EXPECT_EQ(format_duration(0.0009996), "1.00 ms");
  EXPECT_EQ(format_duration(59.96), "1 min 00 s");
  EXPECT_EQ(format_duration(3599.9), "1 h 00 min");
  EXPECT_EQ(format_duration(9.999), "10.0 s");
}

TEST(Text, LongDurationsAreInMinutesHoursAndDays) {
  EXPECT_EQ(format_duration(125), "2 min 05 s");
  EXPECT_EQ(format_duration(12'000), "3 h 20 min");
  EXPECT_EQ(format_duration(367'200), "4 d 6 h");
}

TEST(Text, WhatIsNoTimeIsNotPrintedAsOne) {
  EXPECT_EQ(format_duration(std::numeric_limits<double>::infinity()), "unknown");
  EXPECT_EQ(format_duration(std::nan("")), "unknown");
  EXPECT_EQ(format_duration(-1.5), "-1.50 s");
  EXPECT_EQ(format_rate(std::nan(""), "images"), "unknown");
}

TEST(Text, CountsAreGrouped) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1797), "1,797");
  EXPECT_EQ(format_count(-1234567), "-1,234,567");
  EXPECT_EQ(format_count(-123), "-123");
  EXPECT_EQ(format_count(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Text, RatesHaveTheirUnit) {
  EXPECT_EQ(format_rate(7006.4, "images"), "7,006 images/s");
  EXPECT_EQ(format_rate(12.54, "tokens"), "12.5 tokens/s");
  EXPECT_EQ(format_rate(0.421, "examples"), "0.42 examples/s");
  EXPECT_EQ(format_rate(0.0012, "images"), "0.0012 images/s");
  EXPECT_EQ(format_rate(0, "images"), "0.00 images/s");
}

TEST(Text, OneIsSingular) {
  EXPECT_EQ(counted(1, "step"), "1 step");
  EXPECT_EQ(counted(0, "step"), "0 steps");
  EXPECT_EQ(counted(1797, "step"), "1,797 steps");
  EXPECT_EQ(counted(2, "batch", "batches"), "2 batches");
}

TEST(Text, LinesAreBrokenAtSpacesWithinTheWidth) {
  EXPECT_EQ(wrapped("  one two three four", 4, 12), "  one two\n    three\n    four");
  EXPECT_EQ(wrapped("short", 4, 12), "short");
  EXPECT_EQ(wrapped("", 4, 12), "");
  EXPECT_EQ(wrapped("a /very/long/path/name b", 2, 10), "a\n  /very/long/path/name\n  b");
  EXPECT_EQ(wrapped("exactly ten", 2, 11), "exactly ten");
  EXPECT_EQ(wrapped("two  spaces stay", 2, 40), "two  spaces stay");
}

}  // namespace
}  // namespace plimsoll

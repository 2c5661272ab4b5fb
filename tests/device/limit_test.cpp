#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/device.h>

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(LimitTest, ResolvesBytesSharesAndNothing) {
  EXPECT_EQ(Limit(GiB(8)).resolve(GiB(2)), GiB(8));
  EXPECT_EQ(Limit::share(0.5).resolve(GiB(2)), GiB(1));
  EXPECT_EQ(Limit::share(1).resolve((Bytes{1} << 62) + 1), (Bytes{1} << 62) + 1);
  EXPECT_EQ(Limit().resolve(GiB(2)), std::nullopt);
}

TEST(LimitTest, ReadsSizesAndPercentages) {
  EXPECT_EQ(Limit::parse("8GiB").resolve(GiB(2)), GiB(8));
  EXPECT_EQ(Limit::parse("50%").resolve(GiB(2)), GiB(1));
  EXPECT_EQ(Limit::parse("12.5%").resolve(GiB(2)), MiB(256));
  EXPECT_EQ(Limit::parse("100%").resolve(GiB(2)), GiB(2));
}

TEST(LimitTest, RefusesWhatIsNeither) {
  for (const char* text : {"", "%", "0%", "-5%", "+5%", "101%", "100.1%", "5 %", "%5", "5%%",
                           "nan%", "inf%", "1e1%", "0x5%", ".5%", "half", "-1"}) {
    EXPECT_THAT([&] { Limit::parse(text, "--limit"); },
                ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("--limit"), HasSubstr(text))))
        << text;
  }
  for (const double share : {0.0, -0.5, 1.01, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(Limit::share(share), InvalidArgument) << share;
  }
}

}  // namespace
}  // namespace plimsoll

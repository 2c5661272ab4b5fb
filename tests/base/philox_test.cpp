#include <gtest/gtest.h>

#include <plimsoll/base/philox.h>

namespace plimsoll {
namespace {

TEST(Philox, GivesThePublishedVectors) {
  // philox4x32-10 of Random123's known-answer file.
  EXPECT_EQ(Philox::draw({0, 0, 0, 0}, {0, 0}),
            (Philox::Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(
      Philox::draw({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
      (Philox::Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      Philox::draw({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (Philox::Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, WordsMapToTheirRange) {
  EXPECT_EQ(Philox::unit(0), 0.0F);
  EXPECT_LT(Philox::unit(0xffffffff), 1.0F);
  EXPECT_EQ(Philox::below(0, 7), 0U);
  EXPECT_EQ(Philox::below(0xffffffff, 7), 6U);
}

}  // namespace
}  // namespace plimsoll

#include <plimsoll/base/bytes.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(ParseBytes, ReadsBinaryAndDecimalUnits) {
  EXPECT_EQ(parse_bytes("8GiB"), GiB(8));
  EXPECT_EQ(parse_bytes("512 MiB"), MiB(512));
  EXPECT_EQ(parse_bytes("1.5g"), GiB(3) / 2);
  EXPECT_EQ(parse_bytes("1.5G"), GiB(3) / 2);
  EXPECT_EQ(parse_bytes("4096"), 4096U);
  EXPECT_EQ(parse_bytes("200MB"), 200'000'000U);
  EXPECT_EQ(parse_bytes("200mb"), 200'000'000U);
  EXPECT_EQ(parse_bytes("3k"), 3072U);
  EXPECT_EQ(parse_bytes("3KB"), 3000U);
  EXPECT_EQ(parse_bytes("2TiB"), GiB(2048));
  EXPECT_EQ(parse_bytes("2t"), GiB(2048));
  EXPECT_EQ(parse_bytes("1TB"), 1'000'000'000'000U);
  EXPECT_EQ(parse_bytes("1.25GB"), 1'250'000'000U);
  EXPECT_EQ(parse_bytes("512B"), 512U);
  EXPECT_EQ(parse_bytes("512 B"), 512U);
  EXPECT_EQ(parse_bytes("0"), 0U);
  EXPECT_EQ(parse_bytes("0GiB"), 0U);
  EXPECT_EQ(parse_bytes("007"), 7U);
  EXPECT_EQ(parse_bytes("3.000"), 3U);
}

TEST(ParseBytes, RoundsFractionsOfAUnitDownToWholeBytes) {
  EXPECT_EQ(parse_bytes("6.7GiB"), 7194070220U);
  EXPECT_EQ(parse_bytes("0.1k"), 102U);
  EXPECT_EQ(parse_bytes("0.999999999999999999999999999999k"), 1023U);
  EXPECT_EQ(parse_bytes("0.0009765625KiB"), 1U);
}

TEST(ParseBytes, TakesTheLargest63BitValueAndNoMore) {
  EXPECT_EQ(parse_bytes("9223372036854775807"), 9223372036854775807U);
  EXPECT_THROW(parse_bytes("9223372036854775808"), InvalidArgument);
  EXPECT_THROW(parse_bytes("18446744073709551616"), InvalidArgument);
  EXPECT_THROW(parse_bytes("99999999999999999999999999999"), InvalidArgument);
  EXPECT_EQ(parse_bytes("8388607TiB"), Bytes{8388607} << 40);
  EXPECT_THROW(parse_bytes("8388608TiB"), InvalidArgument);
  EXPECT_EQ(parse_bytes("8388607.9999TiB") >> 40, Bytes{8388607});
  EXPECT_THROW(parse_bytes("9223372036854775807.5k"), InvalidArgument);
}

TEST(ParseBytes, RefusesMalformedSizesByName) {
  for (const char* text :
       {"",      " ",       "-1",  "+1",  "-8GiB", "GiB",   "8 G iB", "8XB",  "8GiBs", "1.5",
        "1.5B",  "0.0001k", "0.5", ".5g", "1.g",   "1..5g", "1e9",    "0x10", "8,5g",  "8GiB ",
        " 8GiB", "8\tGiB",  "8Gi", "nan", "inf",   "1_000", "8GiB8",  "١",    "50%",   "1/2"}) {
    EXPECT_THAT([&] { parse_bytes(text, "--limit"); },
                ThrowsMessage<InvalidArgument>(
                    AllOf(HasSubstr("--limit"), HasSubstr(text), HasSubstr("512MiB"))))
        << text;
  }
}

TEST(ParseBytes, RefusesEmbeddedZeros) {
  EXPECT_THROW(parse_bytes(std::string_view("8\0GiB", 5)), InvalidArgument);
}

TEST(FormatBytes, UsesAtMostFourCharactersAndABinaryUnit) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1 KiB");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(7194070220), "6.7 GiB");
  EXPECT_EQ(format_bytes(GiB(8)), "8 GiB");
  EXPECT_EQ(format_bytes(GiB(8) + 1), "8.0 GiB");
  EXPECT_EQ(format_bytes(MiB(1023)), "1023 MiB");
  EXPECT_EQ(format_bytes(GiB(1) - 1), "1.0 GiB");
  EXPECT_EQ(format_bytes(MiB(100) - KiB(1)), "100 MiB");
  EXPECT_EQ(format_bytes(kUnlimited), "unlimited");
  EXPECT_EQ(format_bytes(kUnlimited - 1), "16 EiB");
}

TEST(FormatBytes, WhatItWritesReadsBack) {
  for (const Bytes value : {Bytes{0}, Bytes{512}, KiB(1), MiB(3), GiB(141), GiB(5000)}) {
    const Bytes back = parse_bytes(format_bytes(value));
    EXPECT_NEAR(static_cast<double>(back), static_cast<double>(value),
                static_cast<double>(value) * 0.05);
  }
}

TEST(AlignBytes, RoundsToPowersOfTwo) {
  EXPECT_EQ(align_up(1, 256), 256U);
  EXPECT_EQ(align_up(256, 256), 256U);
  EXPECT_EQ(align_up(0, 256), 0U);
  EXPECT_EQ(align_down(511, 256), 256U);
}

}  // namespace
}  // namespace plimsoll

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/device/choice_table.h>

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

/// What `work` writes to stderr.
template <typename Work>
std::string told(const Work& work) {
  ::testing::internal::CaptureStderr();
  work();
  return ::testing::internal::GetCapturedStderr();
}

TEST(ChoiceTable, KeepsWhatWasTakenAndPrefersNothingByItself) {
  ChoiceTable table;
  table.took("product", "first");
  EXPECT_EQ(table.preferred("product"), std::nullopt) << "the next one is chosen as this one was";
  table.took("product", "second");
  EXPECT_THAT(table.all(), ElementsAre(Pair("product", "second")));
}

TEST(ChoiceTable, APreferenceHoldsForAsLongAsItIsTaken) {
  ChoiceTable table;
  const std::string nothing = told([&] {
    table.prefer({{"conv", "engine 3"}, {"product", "algorithm 7"}});
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(table.preferred("conv"), "engine 3");
      table.took("conv", "engine 3");
    }
    table.prefer({{"conv", "engine 3"}});
  });
  EXPECT_EQ(nothing, "");
  EXPECT_THAT(table.all(), ElementsAre(Pair("conv", "engine 3"), Pair("product", "algorithm 7")))
      << "what was not needed yet is kept for the next checkpoint";
}

TEST(ChoiceTable, WhatCannotBeHadIsChosenAnewWithOneWarningForEachReason) {
  ChoiceTable table;
  table.prefer({{"a", "engine 1"}, {"b", "engine 2"}, {"c", "engine 3"}});
  const std::string warning = told([&] { table.give_up("a", "this is cuDNN 9.19.0"); });
  EXPECT_THAT(warning, AllOf(HasSubstr("a cannot have the checkpoint's 'engine 1'"),
                             HasSubstr("this is cuDNN 9.19.0"), HasSubstr("bits may differ")));
  EXPECT_EQ(table.preferred("a"), std::nullopt);
  table.took("a", "engine 8");
  EXPECT_EQ(told([&] { table.give_up("b", "this is cuDNN 9.19.0"); }), "");
  EXPECT_THAT(told([&] { table.give_up("c", "there is no such plan"); }),
              HasSubstr("c cannot have"));
  EXPECT_EQ(table.all().at("a"), "engine 8");
}

TEST(ChoiceTable, WhatWasPreparedInAnotherWayStaysAndIsTold) {
  ChoiceTable table;
  table.took("conv", "engine 3");
  const std::string warning = told([&] { table.prefer({{"conv", "engine 4"}}); });
  EXPECT_THAT(warning, AllOf(HasSubstr("'engine 4'"), HasSubstr("prepared it in another way")));
  EXPECT_EQ(table.preferred("conv"), std::nullopt);
  EXPECT_EQ(table.all().at("conv"), "engine 3");
}

TEST(ChoiceTable, IsBounded) {
  ChoiceTable table;
  const std::string text(KiB(1), 'x');
  const auto fill = [&](int begin) {
    for (int i = 0; i < 5000; ++i) table.took(std::to_string(begin + i), text);
  };
  EXPECT_THAT(told([&] { fill(0); }), HasSubstr("take more than 4 MiB"));
  EXPECT_EQ(told([&] { fill(5000); }), "") << "once";
  Bytes bytes = 0;
  for (const auto& [key, value] : table.all()) bytes += key.size() + value.size();
  EXPECT_LE(bytes, ChoiceTable::kMost);
  EXPECT_GT(bytes, ChoiceTable::kMost - KiB(2));
  table.took("0", "short");
  EXPECT_EQ(table.all().at("0"), "short") << "room that was given back is used";
}

}  // namespace
}  // namespace plimsoll

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

TEST(ChoiceTable, ACheckpointWinsOverAFileKeyByKey) {
  ChoiceTable table;
  table.prefer({{"a", "of the file"}, {"b", "of the file"}}, ChoiceOrigin::file);
  table.prefer({{"a", "of the checkpoint"}});
  EXPECT_EQ(table.preferred("a"), "of the checkpoint");
  EXPECT_EQ(table.preferred("b"), "of the file");
  EXPECT_THAT(told([&] { table.give_up("b", "there is no such plan"); }),
              AllOf(HasSubstr("b cannot have the choices file's 'of the file'"),
                    HasSubstr("plimsoll tune")));
  EXPECT_EQ(table.count_asked({{"a", ""}, {"b", ""}}), 0U);
  table.took("b", "of the rule");
  EXPECT_EQ(table.count_asked({{"a", ""}, {"b", ""}}), 1U);
}

TEST(ChoiceTable, OffersAlternativesWhileTheyAreMeasured) {
  ChoiceTable table("Library 1.0");
  EXPECT_EQ(table.libraries(), "Library 1.0");
  table.took("conv", "rule");
  table.offer("conv", {"other"});
  EXPECT_TRUE(table.offers().empty()) << "nobody measures";

  table.explore({});
  EXPECT_TRUE(table.exploring());
  EXPECT_EQ(table.preferred("conv"), std::nullopt) << "everything is prepared anew";
  table.took("conv", "rule");
  table.offer("conv", {"b", "rule", "a", "b"});
  table.asked("product");
  EXPECT_THAT(table.offers().at("conv").others, ElementsAre("b", "a"));
  EXPECT_EQ(table.offers().at("conv").rule, "rule");
  EXPECT_THAT(table.take_asked(), ElementsAre("conv", "product"));
  EXPECT_TRUE(table.take_asked().empty());

  const std::uint64_t before = table.generation();
  const std::string nothing = told([&] {
    table.explore({{"conv", "a"}});
    EXPECT_GT(table.generation(), before);
    EXPECT_EQ(table.preferred("conv"), "a");
    table.give_up("conv", "there is no such plan");
    table.took("conv", "rule");
  });
  EXPECT_EQ(nothing, "") << "what cannot be had is no news while alternatives are tried";
  table.offer("conv", {"c"});
  EXPECT_THAT(table.offers().at("conv").others, ElementsAre("b", "a")) << "the first offer stays";

  table.settle({{"conv", "b"}});
  EXPECT_FALSE(table.exploring());
  EXPECT_EQ(table.preferred("conv"), "b");
  EXPECT_TRUE(table.take_asked().empty());
}

TEST(ChoiceTable, OffersAreBounded) {
  ChoiceTable table;
  table.explore({});
  table.took("conv", "rule");
  std::vector<std::string> others;
  for (int i = 0; i < 100; ++i) others.push_back(std::to_string(i));
  table.offer("conv", others);
  EXPECT_EQ(table.offers().at("conv").others.size(), ChoiceTable::kMostOffered);
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

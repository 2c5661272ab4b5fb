#include <plimsoll/memory/out_of_memory.h>

#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <plimsoll/memory/arena.h>
#include <plimsoll/memory/dry_pages.h>

namespace plimsoll {
namespace {

OutOfMemoryReport provoke(const std::string& label) {
  Budget root = Budget::root("cuda:0", MiB(64));
  Budget training = root.child("training", MiB(48));
  Arena arena(make_dry_pages(), root);
  std::vector<Block> blocks;
  for (int i = 0; i < 12; ++i) {
    blocks.push_back(arena.allocate(
        MiB(3), training.account(Tag::activations, "encoder/block" + std::to_string(i))));
  }
  const Account thumbnails = training.account(Tag::cache, "thumbnails");
  blocks.push_back(arena.allocate(MiB(8), thumbnails));
  const RemedyHandle fewer = Budget::remedy("keep fewer thumbnails", thumbnails, 0.5);
  const RemedyHandle none = root.remedy("something that would free nothing", 0);
  blocks.erase(blocks.begin() + 4);
  try {
    (void)arena.allocate(MiB(20), training.account(Tag::gradients, label));
  } catch (const OutOfMemory& e) {
    EXPECT_STREQ(e.what(), e.report().to_string().c_str());
    return e.report();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

TEST(OutOfMemory, SaysWhatWasAskedByWhomAndWhoHoldsWhat) {
  const OutOfMemoryReport r = provoke("conv1");
  EXPECT_EQ(r.requested, MiB(20));
  EXPECT_EQ(r.tag, Tag::gradients);
  EXPECT_EQ(r.label, "conv1");
  EXPECT_EQ(r.budget, "cuda:0/training");
  EXPECT_EQ(r.limit, MiB(48));
  EXPECT_EQ(r.used, MiB(41));
  EXPECT_GE(r.largest_free, MiB(3));
  EXPECT_EQ(r.holders.at(0).label, "thumbnails");
  EXPECT_EQ(r.holders.size(), 12U);
  ASSERT_EQ(r.remedies.size(), 2U);
  EXPECT_EQ(r.remedies[0].text, "raise the limit of 'cuda:0/training' to 61 MiB");
  EXPECT_EQ(r.remedies[1].text, "keep fewer thumbnails");
  EXPECT_EQ(r.remedies[1].bytes, MiB(4));
  const std::string text = r.to_string();
  for (const char* part : {"20 MiB", "gradients 'conv1'", "cuda:0/training", "48 MiB", "41 MiB",
                           "thumbnails", "keep fewer thumbnails"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(OutOfMemory, TheTableFitsEightyColumns) {
  for (const std::string& label : {std::string("x"), std::string(300, 'y')}) {
    std::istringstream lines(provoke(label).to_string());
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  }
}

TEST(OutOfMemory, IsAvailableAsData) {
  const nlohmann::json j = nlohmann::json::parse(provoke("with \"quotes\" and \xff").to_json());
  EXPECT_EQ(j["requested"], MiB(20));
  EXPECT_EQ(j["budget"], "cuda:0/training");
  EXPECT_EQ(j["holders"].size(), 12U);
  EXPECT_EQ(j["holders"][0]["tag"], "cache");
  EXPECT_GT(j["remedies"].size(), 1U);
}

TEST(OutOfMemory, WhenTheSystemRefusesItSaysSo) {
  Budget root = Budget::root("cpu:0");
  Arena arena(make_dry_pages(), root, {.address_space = GiB(1)});
  try {
    (void)arena.allocate(GiB(64), root.account(Tag::user, "huge"));
    FAIL();
  } catch (const OutOfMemory& e) {
    EXPECT_TRUE(e.report().budget.empty());
    EXPECT_NE(std::string(e.what()).find("addresses"), std::string::npos) << e.what();
  }
}

TEST(OutOfMemory, TheLimitItAdvisesIsEnough) {
  Budget root = Budget::root("cuda:0", MiB(1));
  Arena arena(make_dry_pages(MiB(2)), root);
  const Account account = root.account(Tag::user, "x");
  std::vector<Block> kept;
  // Pages are whole and figures are rounded; neither may make the advice fall short.
  for (const Bytes bytes : {KiB(1), MiB(3), MiB(1357), GiB(5) + 1}) {
    try {
      kept.push_back(arena.allocate(bytes, account));
      FAIL() << bytes << " fit";
    } catch (const OutOfMemory& e) {
      const std::string& text = e.report().remedies.at(0).text;
      root.set_limit(parse_bytes(text.substr(text.rfind(" to ") + 4)));
    }
    EXPECT_NO_THROW(kept.push_back(arena.allocate(bytes, account))) << bytes;
    root.set_limit(root.used());
  }
}

/// The texts of the remedies for `bytes` more in `budget`.
std::vector<std::string> remedies_for(const Budget& budget, Bytes bytes) {
  try {
    const Charge charge = budget.charge(Tag::user, "x", bytes);
    ADD_FAILURE() << "nothing was refused";
  } catch (const OutOfMemory& e) {
    std::vector<std::string> texts;
    for (const Remedy& r : e.report().remedies) texts.push_back(r.text);
    return texts;
  }
  return {};
}

TEST(Remedies, AreListedWhileTheirHolderOffersThem) {
  const Budget root = Budget::root("cpu:0", MiB(64));
  const Budget cache = root.child("cache");
  const Charge held = cache.charge(Tag::cache, "pictures", MiB(40));
  EXPECT_EQ(remedies_for(root, MiB(30)).size(), 1U) << "nothing is suggested by tag alone";
  {
    RemedyHandle first = cache.remedy("keep fewer pictures", MiB(20));
    const RemedyHandle second = cache.remedy("keep fewer pictures", MiB(10));
    try {
      const Charge charge = root.charge(Tag::user, "x", MiB(30));
    } catch (const OutOfMemory& e) {
      ASSERT_EQ(e.report().remedies.size(), 2U);
      EXPECT_EQ(e.report().remedies[1].bytes, MiB(30));
    }
    first.set(0);
    EXPECT_EQ(remedies_for(root, MiB(30)).size(), 2U);
  }
  EXPECT_EQ(remedies_for(root, MiB(30)).size(), 1U);
}

TEST(Remedies, OfOtherBudgetsAreNotListed) {
  const Budget root = Budget::root("cpu:0", MiB(64));
  const Budget small = root.child("small", MiB(8));
  const RemedyHandle elsewhere = root.child("cache").remedy("keep fewer pictures", MiB(20));
  EXPECT_EQ(remedies_for(small, MiB(9)),
            (std::vector<std::string>{"raise the limit of 'cpu:0/small' to 9 MiB"}));
}

TEST(Remedies, NameEveryLimitThatStandsInTheWay) {
  const Budget root = Budget::root("cpu:0", MiB(64));
  const Budget small = root.child("small", MiB(8));
  EXPECT_EQ(remedies_for(small, MiB(65)),
            (std::vector<std::string>{"raise the limit of 'cpu:0/small' to 65 MiB",
                                      "raise the limit of 'cpu:0' to 65 MiB"}));
}

TEST(Remedies, DoNotRaiseALimitAboveWhatTheDeviceHas) {
  const Budget root = Budget::root("cpu:0", MiB(64), MiB(100));
  EXPECT_EQ(remedies_for(root, MiB(99)),
            (std::vector<std::string>{"raise the limit of 'cpu:0' to 99 MiB"}));
  EXPECT_TRUE(remedies_for(root, MiB(101)).empty());
  const Budget child = root.child("child", MiB(1));
  EXPECT_TRUE(remedies_for(child, MiB(101)).empty());
}

}  // namespace
}  // namespace plimsoll

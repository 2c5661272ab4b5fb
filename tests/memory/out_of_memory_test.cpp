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
  blocks.push_back(arena.allocate(MiB(8), training.account(Tag::cache, "thumbnails")));
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
  ASSERT_GE(r.remedies.size(), 3U);
  EXPECT_NE(r.remedies[0].text.find("raise the limit"), std::string::npos);
  const std::string text = r.to_string();
  for (const char* part : {"20 MiB", "gradients 'conv1'", "cuda:0/training", "48 MiB", "41 MiB",
                           "thumbnails", "cache to disk"}) {
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

}  // namespace
}  // namespace plimsoll

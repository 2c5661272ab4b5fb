#include <plimsoll/memory/ledger.h>

#include <map>
#include <random>

#include <gtest/gtest.h>

#include <plimsoll/memory/arena.h>
#include <plimsoll/memory/dry_pages.h>

namespace plimsoll {
namespace {

TEST(Ledger, NamesHoldersLargestFirst) {
  Budget root = Budget::root("cpu:0");
  Budget training = root.child("training");
  Arena arena(make_dry_pages(), root);
  Block a = arena.allocate(KiB(4), training.account(Tag::activations, "conv1"));
  Block b = arena.allocate(KiB(8), training.account(Tag::activations, "conv1"));
  Block c = arena.allocate(KiB(64), root.account(Tag::parameters, "fc"));
  const std::vector<Holder> holders = root.ledger().holders();
  ASSERT_EQ(holders.size(), 2U);
  EXPECT_EQ(holders[0].label, "fc");
  EXPECT_EQ(holders[0].bytes, KiB(64));
  EXPECT_EQ(holders[1].budget, "cpu:0/training");
  EXPECT_EQ(holders[1].bytes, KiB(12));
  EXPECT_EQ(holders[1].blocks, 2U);
  EXPECT_EQ(root.ledger().holders("cpu:0/training").size(), 1U);
  EXPECT_EQ(root.ledger().holders("cpu:0/train").size(), 0U) << "a path is not a prefix of names";
  EXPECT_EQ(root.ledger().live(), KiB(76));
}

TEST(Ledger, TheCompositionAtThePeakIsExact) {
  const unsigned seed = 20261;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  Budget root = Budget::root("cpu:0");
  Arena arena(make_dry_pages(), root);
  constexpr int kLabels = 17;
  std::vector<Account> accounts;
  for (int i = 0; i < kLabels; ++i) {
    accounts.push_back(root.account(static_cast<Tag>(i % kTagCount), "l" + std::to_string(i)));
  }
  std::vector<std::pair<int, Block>> blocks;
  std::map<int, Bytes> now;
  std::map<int, Bytes> at_peak;
  Bytes live = 0;
  Bytes peak = 0;
  for (int i = 0; i < 20000; ++i) {
    if (blocks.empty() || random() % 100 < (i % 2000 < 1000 ? 55U : 45U)) {
      const int label = static_cast<int>(random() % kLabels);
      const Bytes bytes = 256 * (1 + random() % 64);
      blocks.emplace_back(label, arena.allocate(bytes, accounts[static_cast<std::size_t>(label)]));
      now[label] += bytes;
      live += bytes;
    } else {
      const std::size_t k = random() % blocks.size();
      now[blocks[k].first] -= blocks[k].second.size();
      live -= blocks[k].second.size();
      blocks[k] = std::move(blocks.back());
      blocks.pop_back();
    }
    if (live > peak) {
      peak = live;
      at_peak = now;
    }
  }
  EXPECT_EQ(root.ledger().peak(), peak);
  Bytes sum = 0;
  for (const Holder& h : root.ledger().peak_holders()) {
    EXPECT_EQ(h.bytes, at_peak[std::stoi(h.label.substr(1))]) << h.label;
    sum += h.bytes;
  }
  EXPECT_EQ(sum, peak);
  root.ledger().reset_peak();
  EXPECT_EQ(root.ledger().peak(), live);
}

TEST(Ledger, MarksKeepWhoHeldWhat) {
  Budget root = Budget::root("cpu:0");
  Arena arena(make_dry_pages(), root);
  Account account = root.account(Tag::user, "growing");
  std::vector<Block> leak;
  for (int step = 0; step < 3; ++step) {
    leak.push_back(arena.allocate(KiB(1), account));
    root.ledger().mark("step", step);
  }
  const std::vector<Mark> marks = root.ledger().marks();
  ASSERT_EQ(marks.size(), 3U);
  EXPECT_EQ(marks[2].name, "step");
  EXPECT_EQ(marks[2].index, 2);
  EXPECT_EQ(marks[2].holders.at(0).bytes, KiB(3));
  EXPECT_LT(marks[0].live, marks[1].live);
}

TEST(Ledger, MarksAndHistoryAreBounded) {
  Budget root = Budget::root("cpu:0");
  Arena arena(make_dry_pages(), root);
  Account account = root.account(Tag::user, "x");
  for (int i = 0; i < 5000; ++i) {
    Block b = arena.allocate(MiB(1), account);
    b.release();
    arena.trim();
    root.ledger().mark("step", i);
  }
  EXPECT_EQ(root.ledger().marks().size(), Ledger::kMarks);
  EXPECT_EQ(root.ledger().marks().back().index, 4999);
  const std::vector<LedgerEvent> history = root.ledger().history();
  EXPECT_EQ(history.size(), Ledger::kEvents);
  EXPECT_EQ(history.back().kind, LedgerEvent::Kind::mark);
  EXPECT_LE(history.front().time_ns, history.back().time_ns);
}

TEST(Ledger, SumsByTag) {
  const std::vector<Holder> sums = by_tag(
      {{"a", Tag::cache, "x", 10, 1}, {"a", Tag::user, "y", 30, 2}, {"b", Tag::cache, "z", 15, 3}});
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums[0].tag, Tag::user);
  EXPECT_EQ(sums[1].bytes, 25U);
  EXPECT_EQ(sums[1].blocks, 4U);
}

}  // namespace
}  // namespace plimsoll

#pragma once

// Calls to a page source are made to fail, in a run that grows, moves, trims, lowers limits and
// opens and closes arenas. After each failure everything agrees, blocks hold what was written to
// them, nothing is lost, and the same call then succeeds. A test file brings the sources:
//
//   INSTANTIATE_TEST_SUITE_P(Mine, ArenaFaults, ::testing::Values(my_case), fault_case_name);

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/arena.h>
#include <plimsoll/memory/faulty_pages.h>
#include <plimsoll/memory/out_of_memory.h>

#include "memory/opened_source.h"
#include "memory/stamp.h"

namespace plimsoll::testing {

struct ArenaFaultCase {
  SourceCase source;
  int operations = 2000;
  std::uint64_t every = 1;  ///< of the calls that such a run makes, each so-manieth fails once
  std::uint64_t count = 1;  ///< calls in a row that fail

  friend void PrintTo(const ArenaFaultCase& fault, std::ostream* out) { *out << fault.source.name; }
};

inline std::string fault_case_name(const ::testing::TestParamInfo<ArenaFaultCase>& info) {
  return info.param.source.name +
         (info.param.count > 1 ? std::to_string(info.param.count) + "InARow" : "");
}

class FaultyWorkload {
 public:
  static constexpr unsigned kSeed = 4711;

  FaultyWorkload(const OpenedSource& opened, int operations)
      : pages(std::make_shared<FaultyPages>(opened.source)),
        opened_(opened),
        operations_(operations),
        page_(opened.source->page_size()) {}

  /// Runs the whole workload with the n-th call failing, `count` times in a row (0: none).
  void run(std::uint64_t n, std::uint64_t count = 1) {
    random_.seed(kSeed);
    pages->fail_at(n, count);
    retry([&] { main_ = std::make_unique<Arena>(pages, root_); });
    for (int i = 0; i < operations_; ++i) operation();
    puzzle();
    while (!blocks_.empty()) drop(blocks_.size() - 1);
    EXPECT_EQ(root_.ledger().live(), 0U);
    stats = main_->stats();
    retry([&] { main_->close(); });
    if (session_) retry([&] { session_->close(); });
    main_.reset();
    session_.reset();
    EXPECT_EQ(root_.used(), 0U) << "pages were lost";
    EXPECT_EQ(root_.limit(), limit_);
  }

  std::shared_ptr<FaultyPages> pages;
  ArenaStats stats;  ///< of the arena that lasted

 private:
  struct Held {
    Block block;
    Stamp stamp;
  };

  void operation() {
    const auto kind = random_() % 100;
    const Bytes bytes = 1 + (page_ >> (random_() % 8)) * (1 + random_() % 6);
    const std::size_t which = blocks_.empty() ? 0 : random_() % blocks_.size();
    if (kind < 48) {
      Arena& arena = session_ && random_() % 2 == 0 ? *session_ : *main_;
      allocate(arena, bytes, ++stamps_);
    } else if (kind < 88) {
      if (!blocks_.empty()) drop(which);
    } else if (kind < 92) {
      retry([&] { main_->trim(); });
    } else if (kind < 96) {
      const Bytes lower = root_.used() - root_.used() % page_;
      if (lower > 0 && main_->trim(0) == 0 && root_.used() <= lower) {
        retry([&] { root_.set_limit(lower); });
        root_.set_limit(limit_);
      }
    } else if (session_) {
      retry([&] { session_->close(); });
      session_.reset();
      forget_empty();  // what was in it has no memory any more
    } else {
      const Budget budget = root_.child("session", limit_ / 2);
      retry([&] { session_ = std::make_unique<Arena>(pages, budget); });
    }
  }

  /// Single pages up to the limit, every second of them released, and blocks put together from
  /// what that leaves: pages move rarely else.
  void puzzle() {
    while (!blocks_.empty()) drop(blocks_.size() - 1);
    const Bytes room = root_.limit() / page_ - (session_ ? session_->stats().mapped / page_ : 0);
    for (Bytes i = 0; i < room; ++i) allocate(*main_, page_, ++stamps_);
    for (std::size_t i = 0; i < blocks_.size(); i += 2) {
      blocks_[i].stamp.check(opened_, blocks_[i].block);
      blocks_[i].block.release();
    }
    forget_empty();
    for (int i = 0; i < 4; ++i) allocate(*main_, 4 * page_, ++stamps_);
  }

  /// A request may be too large for the limit: then both attempts are refused alike.
  void allocate(Arena& arena, Bytes bytes, std::uint32_t stamp) {
    const Account account = arena.budget().account(Tag::user, "block");
    try {
      Held held;
      retry([&] { held.block = arena.allocate(bytes, account); });
      held.stamp = Stamp(opened_, held.block, stamp);
      blocks_.push_back(std::move(held));
    } catch (const OutOfMemory& e) {
      EXPECT_FALSE(e.report().budget.empty()) << e.what();
      for (int i = 0; i < 4 && !blocks_.empty(); ++i) drop(blocks_.size() - 1);
    }
  }

  void forget_empty() {
    std::erase_if(blocks_, [](const Held& held) { return held.block.data() == nullptr; });
  }

  void drop(std::size_t which) {
    std::swap(blocks_[which], blocks_.back());
    blocks_.back().stamp.check(opened_, blocks_.back().block);
    blocks_.pop_back();
  }

  /// Runs `call`; if a fault was injected during it, checks that all agrees and that the call
  /// succeeds when run again.
  void retry(const std::function<void()>& call) {
    for (;;) {
      const std::uint64_t faults = pages->faults();
      try {
        call();
        if (pages->faults() != faults) check();
        return;
      } catch (const Error&) {
        if (pages->faults() == faults) throw;
        check();
      }
    }
  }

  void check() const {
    if (main_) main_->check();
    if (session_) session_->check();
    for (const Held& held : blocks_) {
      if (held.block.data() != nullptr) held.stamp.check(opened_, held.block);
    }
  }

  const OpenedSource& opened_;
  const int operations_;
  const Bytes page_;
  const Bytes limit_ = 40 * page_;
  std::mt19937 random_;
  Budget root_ = Budget::root("device:0", limit_);
  std::unique_ptr<Arena> main_;
  std::unique_ptr<Arena> session_;
  std::vector<Held> blocks_;
  std::uint32_t stamps_ = 0;
};

class ArenaFaults : public ::testing::TestWithParam<ArenaFaultCase> {
 protected:
  void SetUp() override {
    opened_ = GetParam().source.open();
    if (!opened_.source) GTEST_SKIP() << opened_.why_not;
    page_ = opened_.source->page_size();
    pages_ = std::make_shared<FaultyPages>(opened_.source);
  }

  /// Blocks of so many pages each, marked, in an arena of their own.
  struct Blocks {
    Blocks(ArenaFaults& test, Bytes limit_pages)
        : opened(test.opened_),
          page(test.page_),
          root(Budget::root("device:0", limit_pages * test.page_)),
          arena(test.pages_, root) {}
    void add(Bytes pages) {
      blocks.push_back(arena.allocate(pages * page, root.account(Tag::user, "block")));
      stamps.emplace_back(opened, blocks.back(), static_cast<std::uint32_t>(blocks.size()));
    }
    /// Two holes of two pages without memory, around as many that are free and have some.
    void make_holes() {
      for (int i = 0; i < 5; ++i) add(2);
      blocks[1].release();
      blocks[3].release();
      EXPECT_EQ(arena.trim(), 4 * page);
      blocks[2].release();
    }
    void check() const {
      arena.check();
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (blocks[i]) stamps[i].check(opened, blocks[i]);
      }
    }
    const OpenedSource& opened;
    const Bytes page;
    Budget root;
    Arena arena;
    std::vector<Block> blocks;
    std::vector<Stamp> stamps;
  };

  OpenedSource opened_;
  std::shared_ptr<FaultyPages> pages_;
  Bytes page_ = 0;
};

TEST_P(ArenaFaults, EveryCallFailsAndNothingIsLost) {
  const ArenaFaultCase& c = GetParam();
  SCOPED_TRACE(FaultyWorkload::kSeed);
  const Bytes before = opened_.used ? opened_.used() : 0;
  FaultyWorkload quiet(opened_, c.operations);
  quiet.run(0);
  const std::uint64_t calls = quiet.pages->calls();
  ASSERT_GT(calls, static_cast<std::uint64_t>(c.operations) / 7)
      << "the workload hardly uses its page source";
  ASSERT_GT(quiet.stats.moves, 4U);
  ASSERT_GT(quiet.stats.unmaps, 4U);
  for (std::uint64_t n = 1; n <= calls; n += c.every) {
    FaultyWorkload faulty(opened_, c.operations);
    ASSERT_NO_THROW(faulty.run(n, c.count)) << "call " << n << " of " << calls;
    EXPECT_GE(faulty.pages->faults(), 1U) << "call " << n << " was never made";
    if (HasFailure()) FAIL() << "at call " << n << " of " << calls;
  }
  if (opened_.used) {
    EXPECT_LE(opened_.used(), before + 2 * opened_.used_slack);
  }
}

TEST_P(ArenaFaults, AMapThatFailsInTheMiddleOfGrowthIsAnOrdinaryOutOfMemory) {
  Blocks held(*this, 40);
  held.make_holes();
  const Bytes used = held.root.used();
  const std::uint64_t faults = pages_->faults();
  pages_->fail_at(2, 100);
  try {
    held.add(6);
    FAIL() << "no OutOfMemory";
  } catch (const OutOfMemory& error) {
    EXPECT_TRUE(error.report().budget.empty()) << error.what();
    EXPECT_FALSE(error.report().system_error.empty()) << error.what();
    EXPECT_EQ(error.report().requested, 6 * page_);
  }
  EXPECT_GT(pages_->faults(), faults);
  held.check();
  EXPECT_LE(held.root.used(), used + 2 * page_) << "more than the one hole that was mapped";
  // What there is goes on being given, without the system.
  Block small = held.arena.allocate(2 * page_, held.root.account(Tag::user, "small"));
  EXPECT_GT(small.size(), 0U);
  small.release();
  pages_->fail_at(0);
  held.add(6);
  held.check();
}

TEST_P(ArenaFaults, OneMapThatFailsIsMadeUpForByTheOtherWay) {
  for (std::uint64_t n = 1; n <= 2; ++n) {
    Blocks held(*this, 40);
    held.make_holes();
    const std::uint64_t faults = pages_->faults();
    pages_->fail_at(n);
    held.add(6);
    EXPECT_EQ(pages_->faults(), faults + 1);
    held.check();
  }
}

TEST_P(ArenaFaults, ATrimThatFailsKeepsThePagesAndLaterReturnsThem) {
  Blocks held(*this, 40);
  for (int i = 0; i < 9; ++i) held.add(2);
  for (std::size_t i = 1; i < 9; i += 2) held.blocks[i].release();
  pages_->fail_at(2, 100);
  const Bytes used = held.root.used();
  const Bytes returned = held.arena.trim();
  EXPECT_LT(returned, 8 * page_) << "the third unmapping failed";
  EXPECT_EQ(held.root.used(), used - returned);
  held.check();
  EXPECT_EQ(held.arena.trim(), 0U);
  held.check();
  pages_->fail_at(0);
  EXPECT_EQ(held.arena.trim(), 8 * page_ - returned);
  EXPECT_EQ(held.root.used(), 10 * page_);
  held.check();
}

TEST_P(ArenaFaults, AMoveThatFailsLeavesBothPlacesAsTheyWere) {
  // The limit leaves nothing to grow by: what is asked for is put together from single pages.
  Blocks held(*this, 12);
  for (int i = 0; i < 12; ++i) held.add(1);
  for (std::size_t i = 0; i < 12; i += 2) held.blocks[i].release();
  const Bytes used = held.root.used();
  ASSERT_EQ(used, 12 * page_);
  for (std::uint64_t n = 1; n <= 3; ++n) {
    const std::uint64_t faults = pages_->faults();
    pages_->fail_at(n, 100);
    EXPECT_THROW(held.add(4), OutOfMemory) << n;
    EXPECT_GT(pages_->faults(), faults);
    pages_->fail_at(0);
    held.check();
    EXPECT_EQ(held.root.used(), used) << n;
  }
  held.add(4);
  EXPECT_GT(held.arena.stats().moves, 0U);
  EXPECT_EQ(held.root.used(), used);
  held.check();
}

TEST_P(ArenaFaults, ALimitThatCannotBeLoweredStays) {
  Blocks held(*this, 40);
  for (int i = 0; i < 8; ++i) held.add(2);
  for (std::size_t i = 0; i < 4; ++i) held.blocks[i].release();
  pages_->fail_at(1, 100);
  EXPECT_THROW(held.root.set_limit(8 * page_), Error);
  EXPECT_EQ(held.root.limit(), 40 * page_);
  held.check();
  pages_->fail_at(0);
  held.root.set_limit(8 * page_);
  EXPECT_EQ(held.root.used(), 8 * page_);
  held.check();
}

}  // namespace plimsoll::testing

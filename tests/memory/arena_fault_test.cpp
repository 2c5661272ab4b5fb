// Every call to a page source is made to fail once, in a run that grows, moves, trims, lowers
// limits and opens and closes arenas. After each failure everything agrees, nothing is lost, and
// the same call then succeeds.

#include <functional>
#include <random>

#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/arena.h>
#include <plimsoll/memory/dry_pages.h>
#include <plimsoll/memory/faulty_pages.h>
#include <plimsoll/memory/host_pages.h>
#include <plimsoll/memory/out_of_memory.h>

namespace plimsoll {
namespace {

constexpr int kOperations = 2000;
constexpr unsigned kSeed = 4711;

class Workload {
 public:
  explicit Workload(const std::function<std::shared_ptr<PageSource>()>& upstream)
      : pages(std::make_shared<FaultyPages>(upstream())), upstream_(upstream) {}

  /// Runs the whole workload with the n-th call failing, `count` times in a row (0: none).
  void run(std::uint64_t n, std::uint64_t count = 1) {
    random_.seed(kSeed);
    pages->fail_at(n, count);
    retry([&] { main_ = std::make_unique<Arena>(pages, root_); });
    for (int i = 0; i < kOperations; ++i) operation();
    blocks_.clear();
    EXPECT_EQ(root_.ledger().live(), 0U);
    retry([&] { main_->close(); });
    if (session_) retry([&] { session_->close(); });
    main_.reset();
    session_.reset();
    EXPECT_EQ(root_.used(), 0U) << "pages were lost";
    EXPECT_EQ(root_.limit(), kLimit);
  }

  std::shared_ptr<FaultyPages> pages;

 private:
  static constexpr Bytes kPage = KiB(64);
  static constexpr Bytes kLimit = 40 * kPage;

  void operation() {
    const auto kind = random_() % 100;
    const Bytes bytes = 1 + (kPage >> (random_() % 8)) * (1 + random_() % 6);
    const std::size_t which = blocks_.empty() ? 0 : random_() % blocks_.size();
    if (kind < 48) {
      Arena& arena = session_ && random_() % 2 == 0 ? *session_ : *main_;
      const Account account = arena.budget().account(Tag::user, "block");
      // A request may be too large for the limit: then both attempts are refused alike.
      try {
        retry([&] { blocks_.push_back(arena.allocate(bytes, account)); });
      } catch (const OutOfMemory& e) {
        EXPECT_FALSE(e.report().budget.empty()) << e.what();
        for (int i = 0; i < 4 && !blocks_.empty(); ++i) blocks_.pop_back();
      }
    } else if (kind < 88) {
      if (!blocks_.empty()) {
        std::swap(blocks_[which], blocks_.back());
        blocks_.pop_back();
      }
    } else if (kind < 92) {
      retry([&] { main_->trim(); });
    } else if (kind < 96) {
      const Bytes lower = root_.used() - root_.used() % kPage;
      if (lower > 0 && main_->trim(0) == 0 && root_.used() <= lower) {
        retry([&] { root_.set_limit(lower); });
        root_.set_limit(kLimit);
      }
    } else if (session_) {
      retry([&] { session_->close(); });
      session_.reset();
    } else {
      const Budget budget = root_.child("session", kLimit / 2);
      retry([&] { session_ = std::make_unique<Arena>(pages, budget); });
    }
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
  }

  std::function<std::shared_ptr<PageSource>()> upstream_;
  std::mt19937 random_;
  Budget root_ = Budget::root("cpu:0", kLimit);
  std::unique_ptr<Arena> main_;
  std::unique_ptr<Arena> session_;
  std::vector<Block> blocks_;
};

void every_call_fails_once(const std::function<std::shared_ptr<PageSource>()>& upstream,
                           std::uint64_t count) {
  SCOPED_TRACE(kSeed);
  Workload quiet(upstream);
  quiet.run(0);
  const std::uint64_t calls = quiet.pages->calls();
  ASSERT_GT(calls, 300U) << "the workload hardly uses its page source";
  for (std::uint64_t n = 1; n <= calls; ++n) {
    Workload faulty(upstream);
    ASSERT_NO_THROW(faulty.run(n, count)) << "call " << n << " of " << calls;
    EXPECT_GE(faulty.pages->faults(), 1U) << "call " << n << " was never made";
    if (testing::Test::HasFailure()) FAIL() << "at call " << n << " of " << calls;
  }
}

TEST(ArenaFaults, EveryCallFailsOnceOnDryPages) {
  every_call_fails_once([] { return make_dry_pages(KiB(64)); }, 1);
}

TEST(ArenaFaults, EveryCallFailsThriceOnDryPages) {
  every_call_fails_once([] { return make_dry_pages(KiB(64)); }, 3);
}

TEST(ArenaFaults, EveryCallFailsOnceOnHostPages) {
  every_call_fails_once([] { return make_host_pages({.page_size = KiB(64)}); }, 1);
}

}  // namespace
}  // namespace plimsoll

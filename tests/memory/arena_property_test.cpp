// Eight threads on a random tree of budgets with several arenas: no limit is ever exceeded; ledger,
// budgets and arenas agree; nothing is left at the end.

#include <atomic>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/arena.h>
#include <plimsoll/memory/dry_pages.h>
#include <plimsoll/memory/faulty_pages.h>
#include <plimsoll/memory/out_of_memory.h>

namespace plimsoll {
namespace {

constexpr int kThreads = 8;
constexpr int kOperationsPerThread = 16'000;
constexpr Bytes kPage = KiB(64);
constexpr Bytes kRootLimit = 512 * kPage;

/// Counts physical pages over all arenas and notes whether they ever exceeded the root's limit.
class CountingPages : public PageSource {
 public:
  explicit CountingPages(std::atomic<Bytes>& mapped, std::atomic<bool>& exceeded)
      : pages_(make_dry_pages(kPage)), mapped_(mapped), exceeded_(exceeded) {}

  std::string name() const override { return "counting"; }
  Bytes page_size() const override { return kPage; }
  AddressRange reserve(Bytes bytes) override { return pages_->reserve(bytes); }
  void release(AddressRange range) override { pages_->release(range); }
  void map(AddressRange range, Bytes chunk) override {
    pages_->map(range, chunk);
    if (mapped_.fetch_add(range.size) + range.size > kRootLimit) exceeded_ = true;
  }
  void unmap(AddressRange range) override {
    pages_->unmap(range);
    mapped_ -= range.size;
  }
  void move(AddressRange from, AddressRange to) override { pages_->move(from, to); }
  AddressRange whole_chunks(AddressRange range) const override {
    return pages_->whole_chunks(range);
  }
  Bytes chunk_size(std::uintptr_t at) const override { return pages_->chunk_size(at); }
  bool host_accessible() const override { return false; }

 private:
  std::shared_ptr<PageSource> pages_;
  std::atomic<Bytes>& mapped_;
  std::atomic<bool>& exceeded_;
};

struct World {
  std::atomic<Bytes> mapped{0};
  std::atomic<bool> exceeded{false};
  std::shared_ptr<PageSource> pages = std::make_shared<CountingPages>(mapped, exceeded);
  Budget root = Budget::root("cpu:0", kRootLimit);
  std::vector<std::unique_ptr<Arena>> arenas;
  std::vector<std::vector<Budget>> budgets;  // per arena, at random depths
};

std::unique_ptr<World> make_world(unsigned seed) {
  std::mt19937 random(seed);
  auto world = std::make_unique<World>();
  for (int a = 0; a < 3; ++a) {
    Budget base = a == 0 ? world->root : world->root.child("session", kRootLimit / 2);
    world->arenas.push_back(std::make_unique<Arena>(world->pages, base));
    std::vector<Budget> nodes = {base};
    for (int i = 0; i < 6; ++i) {
      const Bytes limit = random() % 3 == 0 ? kUnlimited : kPage * (4 + random() % 200);
      nodes.push_back(nodes[random() % nodes.size()].child("node", limit));
    }
    world->budgets.push_back(std::move(nodes));
  }
  return world;
}

class Worker {
 public:
  Worker(World& world, unsigned seed) : world_(world), random_(seed) {}

  void run() {
    for (int i = 0; i < kOperationsPerThread; ++i) {
      try {
        operation();
      } catch (const OutOfMemory&) {
        for (int k = 0; k < 3 && !blocks_.empty(); ++k) drop(blocks_.size() - 1);
      }
      if (i % 2000 == 0) world_.arenas[random_() % 3]->check();
    }
    relief_.release();
  }

 private:
  void operation() {
    const std::size_t a = random_() % 3;
    const Budget& budget = world_.budgets[a][random_() % world_.budgets[a].size()];
    const Tag tag = static_cast<Tag>(random_() % kTagCount);
    const Bytes bytes = 1 + (kPage >> (random_() % 9)) * (random_() % 9);
    const auto kind = random_() % 100;
    if (kind < 80) {
      if (kind < 40 && blocks_.size() < 64) {
        blocks_.push_back(world_.arenas[a]->allocate(bytes, budget.account(tag, "block")));
        owners_.push_back(a);
      }
      if (!blocks_.empty() && random_() % 2 == 0) drop(random_() % blocks_.size());
    } else if (kind < 84) {
      Reservation reservation = budget.reserve(bytes);
      Block b =
          world_.arenas[a]->allocate(bytes / 2 + 1, budget.account(tag, "reserved"), reservation);
    } else if (kind < 87) {
      (void)budget.charge(tag, "charge", bytes);
    } else if (kind < 90) {
      if (!blocks_.empty()) {
        const std::size_t k = random_() % blocks_.size();
        const auto& nodes = world_.budgets[owners_[k]];
        blocks_[k].recharge(nodes[random_() % nodes.size()].account(tag, "moved"));
      }
    } else if (kind < 92) {
      try {
        world_.budgets[a].back().set_limit(kPage * (2 + random_() % 300));
      } catch (const InvalidArgument&) {
        // more was in use than the new limit: it stays as it was
      }
    } else if (kind < 93) {
      world_.arenas[a]->trim(kPage * (random_() % 100));
    } else if (kind < 95) {
      Budget passing = budget.child("passing", kPage * 8);
      Block b = world_.arenas[a]->allocate(bytes, passing.account(tag, "passing"));
    } else if (kind < 96) {
      Arena session(world_.pages, world_.root.child("brief", kRootLimit / 4));
      Block b = session.allocate(bytes, session.budget().account(tag, "brief"));
    } else if (kind < 98) {
      relief_ = budget.on_relief(ReliefOrder::cache, "worker", [](Bytes) -> Bytes { return 0; });
    } else {
      (void)world_.root.ledger().holders();
      world_.root.ledger().mark("step", 1);
    }
    ASSERT_LE(world_.root.used(), kRootLimit);
  }

  void drop(std::size_t k) {
    std::swap(blocks_[k], blocks_.back());
    std::swap(owners_[k], owners_.back());
    blocks_.pop_back();
    owners_.pop_back();
  }

  World& world_;
  std::mt19937 random_;
  std::vector<Block> blocks_;
  std::vector<std::size_t> owners_;
  ReliefHandle relief_;
};

TEST(ArenaProperties, EightThreadsKeepEveryLimitAndLeaveNothing) {
  for (unsigned seed : {1U, 2U}) {
    SCOPED_TRACE(seed);
    std::unique_ptr<World> world = make_world(seed);
    {
      std::vector<std::unique_ptr<Worker>> workers;
      std::vector<std::thread> threads;
      for (unsigned t = 0; t < kThreads; ++t) {
        workers.push_back(std::make_unique<Worker>(*world, seed * 100 + t));
        threads.emplace_back([worker = workers.back().get()] { worker->run(); });
      }
      for (std::thread& t : threads) t.join();
      for (const auto& arena : world->arenas) arena->check();
    }
    EXPECT_FALSE(world->exceeded) << "more pages were mapped than the root's limit allows";
    EXPECT_EQ(world->root.ledger().live(), 0U);
    for (const auto& arena : world->arenas) {
      arena->check();
      arena->trim();
    }
    EXPECT_EQ(world->root.used(), 0U);
    EXPECT_EQ(world->mapped, 0U);
    EXPECT_LE(world->root.peak(), kRootLimit);
  }
}

}  // namespace
}  // namespace plimsoll

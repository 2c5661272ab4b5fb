#pragma once

// Eight threads on a random tree of budgets with several arenas: no limit is ever exceeded; ledger,
// budgets and arenas agree; blocks hold what was written to them; nothing is left at the end.

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/arena.h>
#include <plimsoll/memory/out_of_memory.h>

#include "memory/opened_source.h"
#include "memory/stamp.h"

namespace plimsoll::testing {

/// Counts physical pages over all arenas and notes whether they ever exceeded the root's limit.
class CountingPages : public PageSource {
 public:
  CountingPages(std::shared_ptr<PageSource> pages, Bytes limit)
      : pages_(std::move(pages)), limit_(limit) {}

  Bytes mapped() const { return mapped_; }
  bool exceeded() const { return exceeded_; }

  std::string name() const override { return "counting"; }
  Bytes page_size() const override { return pages_->page_size(); }
  AddressRange reserve(Bytes bytes) override { return pages_->reserve(bytes); }
  void release(AddressRange range) override { pages_->release(range); }
  void map(AddressRange range, Bytes chunk) override {
    pages_->map(range, chunk);
    if (mapped_.fetch_add(range.size) + range.size > limit_) exceeded_ = true;
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
  bool host_accessible() const override { return pages_->host_accessible(); }

 private:
  const std::shared_ptr<PageSource> pages_;
  const Bytes limit_;
  std::atomic<Bytes> mapped_{0};
  std::atomic<bool> exceeded_{false};
};

struct World {
  World(OpenedSource source, unsigned seed)
      : opened(std::move(source)),
        page(opened.source->page_size()),
        limit(512 * page),
        pages(std::make_shared<CountingPages>(opened.source, limit)),
        root(Budget::root("device:0", limit)) {
    std::mt19937 random(seed);
    for (int a = 0; a < 3; ++a) {
      Budget base = a == 0 ? root : root.child("session", limit / 2);
      arenas.push_back(std::make_unique<Arena>(pages, base));
      std::vector<Budget> nodes = {base};
      for (int i = 0; i < 6; ++i) {
        const Bytes own = random() % 3 == 0 ? kUnlimited : page * (4 + random() % 200);
        nodes.push_back(nodes[random() % nodes.size()].child("node", own));
      }
      budgets.push_back(std::move(nodes));
    }
  }

  const OpenedSource opened;
  const Bytes page;
  const Bytes limit;
  std::shared_ptr<CountingPages> pages;
  Budget root;
  std::vector<std::unique_ptr<Arena>> arenas;
  std::vector<std::vector<Budget>> budgets;  // per arena, at random depths
};

class Worker {
 public:
  Worker(World& world, unsigned seed) : world_(world), random_(seed) {}

  void run(int operations) {
    for (int i = 0; i < operations; ++i) {
      try {
        operation();
      } catch (const OutOfMemory&) {
        for (int k = 0; k < 3 && !blocks_.empty(); ++k) drop(blocks_.size() - 1);
      }
      if (i % (operations / 8) == 0) world_.arenas[random_() % 3]->check();
    }
    while (!blocks_.empty()) drop(blocks_.size() - 1);
    relief_.release();
  }

 private:
  void operation() {
    const Bytes page = world_.page;
    const std::size_t a = random_() % 3;
    const Budget& budget = world_.budgets[a][random_() % world_.budgets[a].size()];
    const Tag tag = static_cast<Tag>(random_() % kTagCount);
    const Bytes bytes = 1 + (page >> (random_() % 9)) * (random_() % 9);
    const auto kind = random_() % 100;
    if (kind < 80) {
      if (kind < 40 && blocks_.size() < 64) {
        Held held{world_.arenas[a]->allocate(bytes, budget.account(tag, "block")), {}, a};
        held.stamp = Stamp(world_.opened, held.block, static_cast<std::uint32_t>(random_()));
        blocks_.push_back(std::move(held));
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
        const Held& held = blocks_[random_() % blocks_.size()];
        const auto& nodes = world_.budgets[held.arena];
        held.block.recharge(nodes[random_() % nodes.size()].account(tag, "moved"));
      }
    } else if (kind < 92) {
      try {
        world_.budgets[a].back().set_limit(page * (2 + random_() % 300));
      } catch (const InvalidArgument&) {
        // more was in use than the new limit: it stays as it was
      }
    } else if (kind < 93) {
      world_.arenas[a]->trim(page * (random_() % 100));
    } else if (kind < 95) {
      Budget passing = budget.child("passing", page * 8);
      Block b = world_.arenas[a]->allocate(bytes, passing.account(tag, "passing"));
    } else if (kind < 96) {
      Arena session(world_.pages, world_.root.child("brief", world_.limit / 4));
      Block b = session.allocate(bytes, session.budget().account(tag, "brief"));
    } else if (kind < 98) {
      relief_ = budget.on_relief(ReliefOrder::cache, "worker", [](Bytes) -> Bytes { return 0; });
    } else {
      (void)world_.root.ledger().holders();
      world_.root.ledger().mark("step", 1);
    }
    ASSERT_LE(world_.root.used(), world_.limit);
  }

  struct Held {
    Block block;
    Stamp stamp;
    std::size_t arena = 0;
  };

  void drop(std::size_t k) {
    std::swap(blocks_[k], blocks_.back());
    blocks_.back().stamp.check(world_.opened, blocks_.back().block);
    blocks_.pop_back();
  }

  World& world_;
  std::mt19937 random_;
  std::vector<Held> blocks_;
  ReliefHandle relief_;
};

/// Runs it with eight threads of so many operations each.
inline void check_threads(const OpenedSource& opened, unsigned seed, int operations) {
  constexpr unsigned kThreads = 8;
  World world(opened, seed);
  {
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
      workers.push_back(std::make_unique<Worker>(world, seed * 100 + t));
      threads.emplace_back(
          [worker = workers.back().get(), operations] { worker->run(operations); });
    }
    for (std::thread& t : threads) t.join();
    for (const auto& arena : world.arenas) arena->check();
  }
  EXPECT_FALSE(world.pages->exceeded()) << "more was mapped than the root's limit allows";
  EXPECT_EQ(world.root.ledger().live(), 0U);
  for (const auto& arena : world.arenas) {
    arena->check();
    arena->trim();
  }
  EXPECT_EQ(world.root.used(), 0U);
  EXPECT_EQ(world.pages->mapped(), 0U);
  EXPECT_LE(world.root.peak(), world.limit);
}

}  // namespace plimsoll::testing

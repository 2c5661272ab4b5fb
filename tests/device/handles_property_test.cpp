// Two handles of one device and ten threads that open, split, make sessions, charge and move limits
// at random: the sum of everything never exceeds the limit, and what was promised is there.
#include <atomic>
#include <cstdint>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/device.h>
#include <plimsoll/memory/out_of_memory.h>

namespace plimsoll {
namespace {

constexpr Bytes kLimit = MiB(64);
constexpr int kThreads = 10;
constexpr int kRounds = 150;

/// What this test's threads hold, by their own count: what the budget says is held against it.
std::atomic<Bytes> live{0};

class Worker {
 public:
  Worker(int number, std::uint64_t seed) : number_(number), random_(seed) {}

  void run() {
    for (int i = 0; i < kRounds; ++i) {
      const Device device = Device::open("cpu:0");
      switch (pick(6)) {
        case 0:
          in_session(device);
          break;
        case 1:
          in_parts(device);
          break;
        case 2:
          charge(device);
          break;
        case 3:
          move_limit(device);
          break;
        case 4:
          EXPECT_THROW(Device::open("cpu", {.limit = kLimit / 2 + KiB(4)}), InvalidArgument);
          break;
        default:
          hold(device);
      }
      look(device);
    }
  }

 private:
  Bytes pick(Bytes below) { return std::uniform_int_distribution<Bytes>(0, below - 1)(random_); }

  static void look(const Device& device) {
    // One after the other, so each figure is of its own moment; none may be above the limit.
    const Budget budget = device.budget();
    EXPECT_LE(budget.used(), kLimit);
    EXPECT_LE(budget.peak(), kLimit);
    EXPECT_LE(budget.promised(), kLimit);
    EXPECT_LE(live.load(), kLimit);
  }

  /// A block for a while, or a refusal; `sure` says that it was promised.
  void hold(const Device& device, Bytes most = MiB(16), bool sure = false) {
    const Bytes bytes = KiB(64) * (1 + pick(most / KiB(64)));
    try {
      const Block block = device.allocate(bytes, Tag::user, "x");
      live += bytes;
      *static_cast<volatile char*>(block.data()) = 1;
      look(device);
      live -= bytes;
    } catch (const OutOfMemory& refused) {
      EXPECT_FALSE(sure) << "seed of thread " << number_ << ": " << refused.what();
    }
  }

  void in_session(const Device& device) {
    Session session = device.session("work", pick(2) == 0 ? Limit(MiB(1 + pick(32))) : Limit());
    hold(session.device());
    if (pick(2) == 0) in_parts(session.device());
    if (pick(2) == 0) session.close();
  }

  void in_parts(const Device& device) {
    const Bytes a = MiB(1 + pick(8));
    const Bytes b = MiB(1 + pick(8));
    try {
      const auto parts = device.split({a, b});
      // Nobody else has these: whatever happens around them, all that was promised is there.
      hold(parts[0], a, true);
      if (pick(3) == 0) {
        parts[1].budget().set_limit(b / 2);
        hold(parts[1], b / 2, true);
      } else {
        hold(parts[1], b, true);
      }
    } catch (const BudgetTooSmall&) {  // others have it
    }
  }

  void charge(const Device& device) {
    const Bytes bytes = MiB(1 + pick(24));
    try {
      const Charge charge = device.budget().charge(Tag::runtime, "library", bytes);
      live += bytes;
      look(device);
      live -= bytes;
    } catch (const OutOfMemory&) {  // others have it
    }
  }

  void move_limit(const Device& device) {
    try {
      device.budget().set_limit(kLimit - MiB(pick(32)));
    } catch (const InvalidArgument&) {  // too much is held or promised
    }
  }

  const int number_;
  std::mt19937_64 random_;
};

TEST(DeviceHandles, NeverHoldMoreThanTheLimitTogether) {
  const std::uint64_t seed = 20261116;
  SCOPED_TRACE(seed);
  {
    const Device first = Device::open("cpu:0", {.limit = kLimit});
    const Device second = Device::open("cpu");
    ASSERT_EQ(first, second);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([t, seed] { Worker(t, seed + static_cast<std::uint64_t>(t)).run(); });
    }
    for (std::thread& thread : threads) thread.join();
    first.arena().check();
    EXPECT_EQ(first.budget().promised(), 0U);
    EXPECT_TRUE(first.budget().children().empty());
    first.arena().trim();
    EXPECT_EQ(first.budget().used(), 0U);
    EXPECT_EQ(live.load(), 0U);
  }
  EXPECT_NO_THROW(Device::open("cpu", {.limit = MiB(8)}));
}

}  // namespace
}  // namespace plimsoll

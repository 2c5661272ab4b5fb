#include <plimsoll/base/serial_scope.h>

#include <set>
#include <thread>

#include <gtest/gtest.h>

#include <plimsoll/base/parallel.h>

namespace plimsoll {
namespace {

TEST(SerialScope, AllWorkIsDoneByTheCallerUntilTheScopeEnds) {
  set_compute_threads(4);
  {
    const SerialScope outer;
    {
      const SerialScope inner;
      EXPECT_TRUE(in_parallel_task());
    }
    EXPECT_TRUE(in_parallel_task());
    std::set<std::thread::id> threads;
    std::int64_t done = 0;
    parallel_for(1000, 1, [&](std::int64_t first, std::int64_t last) {
      threads.insert(std::this_thread::get_id());
      done += last - first;
    });
    parallel_tasks(50, 4, [&](std::int64_t, int slot) {
      threads.insert(std::this_thread::get_id());
      EXPECT_EQ(slot, 0);
      ++done;
    });
    EXPECT_EQ(done, 1050);
    EXPECT_EQ(threads, std::set<std::thread::id>{std::this_thread::get_id()});
  }
  EXPECT_FALSE(in_parallel_task());
  set_compute_threads(0);
}

}  // namespace
}  // namespace plimsoll

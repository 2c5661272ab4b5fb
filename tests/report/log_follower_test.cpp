#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include <fmt/format.h>

#include <plimsoll/report/live.h>

namespace plimsoll {
namespace {

TEST(LogFollower, ReturnsThoughTheRunWritesFasterThanItReads) {
  const std::string path =
      (std::filesystem::path(::testing::TempDir()) / fmt::format("follower-{}.jsonl", ::getpid()))
          .string();
  constexpr int kMost = 2'000'000;  // lines, seconds of writing
  std::atomic<int> written = 0;
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    std::ofstream out(path);
    for (int step = 0; step < kMost && !stop; ++step) {
      out << fmt::format(R"({{"time":{},"event":"step","step":{},"loss":0.5}})", step, step)
          << std::endl;  // each line at once, as a run does
      written = step + 1;
    }
  });
  while (written < 1000) std::this_thread::yield();
  report::LogFollower follower(path);
  EXPECT_TRUE(follower.update());
  stop = true;
  writer.join();
  EXPECT_LT(written, kMost) << "it read until the run had ended";
  std::filesystem::remove(path);
}

/// Writes a log as a process of its own, which is gone right after its last line.
void write_run_and_go(const std::string& path, int steps) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child != 0) return;
  std::array<char, 256> host = {};
  (void)::gethostname(host.data(), host.size() - 1);
  std::ofstream out(path);
  out << fmt::format(R"({{"time":0,"event":"run","format":2,"began":0,"pid":{},"host":"{}"}})"
                     "\n"
                     R"({{"time":0,"event":"begin","device":"cpu:0","budget":1048576,"step":0}})"
                     "\n",
                     ::getpid(), host.data());
  for (int step = 1; step <= steps; ++step) {
    out << fmt::format(R"({{"time":{},"event":"step","step":{},"loss":0.5}})", step, step)
        << std::endl;
  }
  out << R"({"time":9000,"event":"end","stopped":"interrupted"})" << std::endl;
  ::_exit(0);
}

TEST(LogFollower, ARunThatEndedWhileItsLogWasReadIsNotCalledKilled) {
  struct sigaction leave_no_zombie = {};
  leave_no_zombie.sa_handler = SIG_IGN;
  struct sigaction before = {};
  ASSERT_EQ(::sigaction(SIGCHLD, &leave_no_zombie, &before), 0);
  for (int round = 0; round < 40; ++round) {
    const std::string path = (std::filesystem::path(::testing::TempDir()) /
                              fmt::format("follower-{}-{}.jsonl", ::getpid(), round))
                                 .string();
    write_run_and_go(path, 200 * round);
    report::LogFollower follower(path);
    do {
      (void)follower.update();
    } while (follower.run().state == report::RunState::running ||
             follower.run().state == report::RunState::empty);
    EXPECT_EQ(follower.run().state, report::RunState::stopped) << "round " << round;
    std::filesystem::remove(path);
  }
  ::sigaction(SIGCHLD, &before, nullptr);
}

}  // namespace
}  // namespace plimsoll

// Handlers of signals that come while a library computes must find the thread's own stack: a frame
// that is written anywhere else destroys what is there.
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <plimsoll/base/parallel.h>
#include <plimsoll/ops/convolution.h>
#include <plimsoll/ops/matmul.h>

#include "support/op_cases.h"
#include "support/op_checks.h"

namespace plimsoll {
namespace {

using test::random_tensor;

std::atomic<std::uintptr_t> stack_begin;
std::atomic<std::uintptr_t> stack_end;
std::atomic<int> handled;
std::atomic<int> elsewhere;

void look_at_stack(int) {
  const int here = 0;
  const auto at = reinterpret_cast<std::uintptr_t>(&here);
  ++handled;
  if (at < stack_begin || at >= stack_end) ++elsewhere;
}

/// Sends this thread one signal after another while it works.
void expect_handlers_on_stack(const std::function<void()>& work, const std::string& what) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
  void* begin = nullptr;
  std::size_t size = 0;
  ASSERT_EQ(pthread_attr_getstack(&attributes, &begin, &size), 0);
  pthread_attr_destroy(&attributes);
  stack_begin = reinterpret_cast<std::uintptr_t>(begin);
  stack_end = stack_begin + size;
  handled = 0;
  elsewhere = 0;
  struct sigaction action = {};
  struct sigaction before = {};
  action.sa_handler = look_at_stack;
  action.sa_flags = SA_RESTART;
  ASSERT_EQ(sigaction(SIGUSR2, &action, &before), 0);
  std::atomic<bool> done{false};
  std::thread sender([&, to = pthread_self()] {
    while (!done) {
      pthread_kill(to, SIGUSR2);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  while (elsewhere == 0 && (handled < 20 || std::chrono::steady_clock::now() < end)) work();
  done = true;
  sender.join();
  sigaction(SIGUSR2, &before, nullptr);
  EXPECT_EQ(elsewhere, 0) << what;
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_EQ(sigismember(&blocked, SIGUSR2), 0) << what << " leaves signals blocked";
}

TEST(Signals, AreHandledOnTheStackDuringProducts) {
  set_compute_threads(1);
  for (const std::int64_t depth : {100, 200, 384, 1500, 3000}) {
    for (const bool transposed : {false, true}) {
      const Tensor a = random_tensor(Shape{120, depth}, 1);
      const Tensor b = random_tensor(transposed ? Shape{84, depth} : Shape{depth, 84}, 2);
      expect_handlers_on_stack(
          [&] { (void)ops::matmul(a, b, {.transpose_b = transposed}); },
          "a product of depth " + std::to_string(depth) + (transposed ? ", transposed" : ""));
    }
  }
  set_compute_threads(0);
}

TEST(Signals, AreHandledOnTheStackDuringConvolutions) {
  set_compute_threads(1);
  const Tensor x = random_tensor(Shape{4, 48, 20, 20}, 3);
  const Tensor w = random_tensor(Shape{40, 48, 3, 3}, 4);
  expect_handlers_on_stack([&] { (void)ops::conv2d(x, w, {}); }, "a convolution");
  set_compute_threads(0);
}

}  // namespace
}  // namespace plimsoll

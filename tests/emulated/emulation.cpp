#include "emulated/emulation.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

namespace emulation {

Place here;
Order order = Order::forwards;

namespace {

constexpr std::size_t kStack = 96 * 1024;
constexpr unsigned kWarp = 32;

/// What a thread waits for.
enum class Wait { nothing, block, warp, end };

struct Thread {
  ucontext_t context;
  void* stack = nullptr;
  void* fake_stack = nullptr;
  Wait wait = Wait::nothing;
  std::pair<std::string, int> barrier;
  unsigned mask = 0;
  unsigned exchanges = 0;
  uint3 place;
};

/// What a lane gives to others; two, as some read one while others write the next.
struct Given {
  alignas(16) unsigned char bytes[32];
};

std::vector<Thread> threads;
Thread* current = nullptr;
ucontext_t outside;
void* outside_fake_stack = nullptr;
const void* outside_stack = nullptr;
std::size_t outside_size = 0;
const std::function<void()>* kernel = nullptr;
bool without_stacks = false;
std::set<void*> seen;
std::vector<unsigned char> dynamic;
std::vector<Given> given[2];
std::mt19937 shuffling(1);

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "emulation: %s, block (%u, %u, %u), thread (%u, %u)\n", what.c_str(),
               here.block.x, here.block.y, here.block.z, here.thread.x, here.thread.y);
  std::abort();
}

unsigned number_of(const Thread& thread) { return static_cast<unsigned>(&thread - threads.data()); }

void leave() {
  __sanitizer_start_switch_fiber(current->wait == Wait::end ? nullptr : &current->fake_stack,
                                 outside_stack, outside_size);
  swapcontext(&current->context, &outside);
  __sanitizer_finish_switch_fiber(current->fake_stack, nullptr, nullptr);
}

void wait_for(Wait what) {
  if (without_stacks) fail("a barrier that the first thread does not come to");
  current->wait = what;
  leave();
}

void enter() {
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
  (*kernel)();
  current->wait = Wait::end;
  leave();
}

void resume(Thread& thread) {
  current = &thread;
  here.thread = thread.place;
  __sanitizer_start_switch_fiber(&outside_fake_stack, thread.stack, kStack);
  swapcontext(&outside, &thread.context);
  __sanitizer_finish_switch_fiber(outside_fake_stack, &outside_stack, &outside_size);
}

void prepare(Thread& thread) {
  __asan_unpoison_memory_region(thread.stack, kStack);
  getcontext(&thread.context);
  thread.context.uc_stack.ss_sp = thread.stack;
  thread.context.uc_stack.ss_size = kStack;
  thread.context.uc_link = nullptr;
  makecontext(&thread.context, enter, 0);
}

/// Lets warps go on whose lanes have all come to the same exchange; whether there was one.
bool release_warps(unsigned count) {
  bool released = false;
  for (unsigned i = 0; i < count; ++i) {
    if (threads[i].wait != Wait::warp) continue;
    const unsigned first = i / kWarp * kWarp;
    const unsigned mask = threads[i].mask;
    bool all = true;
    for (unsigned lane = 0; lane < kWarp; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      here.thread = threads[i].place;
      if (first + lane >= count) fail("a lane of the mask does not exist");
      const Thread& other = threads[first + lane];
      if (other.wait == Wait::end) fail("a lane of the mask has ended");
      all = all && other.wait == Wait::warp && other.mask == mask;
    }
    if (!all) continue;
    for (unsigned lane = 0; lane < kWarp; ++lane) {
      if ((mask >> lane & 1) != 0) threads[first + lane].wait = Wait::nothing;
    }
    released = true;
  }
  return released;
}

void release_block(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    here.thread = threads[i].place;
    if (threads[i].wait == Wait::end) fail("it has ended before a barrier of others");
    if (threads[i].wait == Wait::warp) fail("it waits for lanes that are elsewhere");
    if (threads[i].barrier != threads[0].barrier) fail("it waits at another barrier");
  }
  for (unsigned i = 0; i < count; ++i) threads[i].wait = Wait::nothing;
}

void run_block(unsigned count) {
  seen.clear();
  std::vector<unsigned> turns(count);
  for (unsigned i = 0; i < count; ++i) {
    const dim3& extent = here.block_dim;
    threads[i].place = {i % extent.x, i / extent.x % extent.y, i / extent.x / extent.y};
    threads[i].wait = Wait::nothing;
    threads[i].exchanges = 0;
    turns[i] = order == Order::backwards ? count - 1 - i : i;
  }
  // Where the first thread meets no barrier, none may: that is quicker.
  prepare(threads[0]);
  resume(threads[0]);
  if (threads[0].wait == Wait::end) {
    without_stacks = true;
    if (order == Order::random) std::shuffle(turns.begin(), turns.end(), shuffling);
    for (const unsigned i : turns) {
      here.thread = threads[i].place;
      if (i != 0) (*kernel)();
    }
    without_stacks = false;
    return;
  }
  for (unsigned i = 1; i < count; ++i) prepare(threads[i]);
  for (;;) {
    if (order == Order::random) std::shuffle(turns.begin(), turns.end(), shuffling);
    bool ended = true;
    for (const unsigned i : turns) {
      if (threads[i].wait == Wait::nothing) resume(threads[i]);
      ended = ended && threads[i].wait == Wait::end;
    }
    if (ended) return;
    if (!release_warps(count)) release_block(count);
  }
}

}  // namespace

void run(const std::function<void()>& body, dim3 grid, dim3 block, std::size_t shared) {
  const unsigned count = block.x * block.y * block.z;
  if (count == 0 || count > 1024) fail(std::to_string(count) + " threads in a block");
  if (grid.x == 0 || grid.x > 0x7fffffff || grid.y == 0 || grid.y > 65535 || grid.z == 0 ||
      grid.z > 65535) {
    fail("a grid of " + std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " +
         std::to_string(grid.z));
  }
  while (threads.size() < count) {
    threads.emplace_back().stack =
        mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (std::vector<Given>& each : given) each.emplace_back();
  }
  kernel = &body;
  here.block_dim = block;
  here.grid_dim = grid;
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        here.block = {x, y, z};
        dynamic.assign(shared, 0xff);
        run_block(count);
      }
    }
  }
}

void see_shared(void* at, std::size_t bytes) {
  if (seen.insert(at).second) std::memset(at, 0xff, bytes);
}

void* dynamic_shared() { return dynamic.data(); }

void sync_block(const char* file, int line) {
  current->barrier = {file, line};
  wait_for(Wait::block);
}

int lane() { return static_cast<int>(number_of(*current) % kWarp); }

void exchange(unsigned mask, const void* mine, void* theirs, std::size_t bytes, int from) {
  const unsigned own = number_of(*current);
  std::vector<Given>& now = given[current->exchanges++ % 2];
  if ((mask >> own % kWarp & 1) == 0 || (mask >> from & 1) == 0) fail("a lane is not in the mask");
  if (bytes > sizeof(Given)) fail("too large to exchange");
  std::memcpy(now[own].bytes, mine, bytes);
  current->mask = mask;
  wait_for(Wait::warp);
  std::memcpy(theirs, now[own / kWarp * kWarp + static_cast<unsigned>(from)].bytes, bytes);
}

unsigned ballot(unsigned mask, bool value) {
  const unsigned own = number_of(*current);
  std::vector<Given>& now = given[current->exchanges++ % 2];
  now[own].bytes[0] = value ? 1 : 0;
  current->mask = mask;
  wait_for(Wait::warp);
  unsigned all = 0;
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    all |= static_cast<unsigned>(now[own / kWarp * kWarp + lane].bytes[0]) << lane;
  }
  return all;
}

}  // namespace emulation

// What the kernels' host side asks of the runtime.
extern "C" {
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorName(cudaError_t) { return ""; }
const char* cudaGetErrorString(cudaError_t) { return ""; }
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}
}

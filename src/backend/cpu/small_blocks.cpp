#include "backend/cpu/small_blocks.h"

#ifdef __GLIBC__
#include <array>
#include <cstdlib>
#endif

namespace plimsoll::cpu {

#ifdef __GLIBC__
namespace {

/// As many of a size as the cache takes, of sizes that pieces have for alignments of up to 256.
constexpr std::size_t kOfEachSize = 7;
constexpr std::size_t kSmallest = 24;
constexpr std::size_t kLargest = 600;
constexpr std::size_t kStep = 16;
constexpr std::size_t kSizes = (kLargest - kSmallest) / kStep + 1;

/// Others take blocks out of the cache: it is filled again every so many calls.
constexpr unsigned kCalls = 16;

void fill() {
  std::array<void*, kSizes * kOfEachSize> blocks{};
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = std::malloc(kSmallest + i / kOfEachSize * kStep);  // NOLINT: freed below
  }
  for (void* const block : blocks) std::free(block);  // NOLINT: as above
}

}  // namespace

void fill_small_blocks() {
  thread_local unsigned calls = 0;
  if (calls++ % kCalls == 0) fill();
}
#else
void fill_small_blocks() {}
#endif

}  // namespace plimsoll::cpu

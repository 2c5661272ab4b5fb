#include <chrono>
#include <vector>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/trace.h>

namespace plimsoll {
namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

ReplayResult replay(const Trace& trace, Arena& arena, const Account& account, int passes) {
  if (passes < 1) {
    throw InvalidArgument("[replay] passes is " + std::to_string(passes) + "; at least 1");
  }
  ReplayResult result;
  result.live_peak = trace.live_peak;
  std::vector<Block> blocks(trace.slots);
  ArenaStats before = arena.stats();
  for (int pass = 0; pass < passes; ++pass) {
    const std::int64_t start = now_ns();
    for (const TraceOperation& operation : trace.operations) {
      Block& block = blocks[operation.slot];
      if (operation.allocate) {
        block = arena.allocate(operation.bytes, account);
      } else if (block) {
        block.release();
      }
    }
    result.total_ns += now_ns() - start;
    const std::int64_t timed_page_ns = arena.stats().page_ns;
    for (Block& block : blocks) {
      if (block) block.release();
    }
    result.stats = arena.stats();
    result.total_ns += result.stats.page_ns - timed_page_ns;  // so that all of page_ns is in it
    result.operations += trace.operations.size();
    result.passes.push_back({.operations = trace.operations.size(),
                             .bytes_allocated = trace.bytes_allocated,
                             .bytes_remapped = result.stats.bytes_remapped - before.bytes_remapped,
                             .maps = result.stats.maps - before.maps,
                             .unmaps = result.stats.unmaps - before.unmaps,
                             .mapped_peak = result.stats.mapped_peak});
    before = result.stats;
  }
  return result;
}

}  // namespace plimsoll

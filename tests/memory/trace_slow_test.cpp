#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/dry_pages.h>
#include <plimsoll/memory/out_of_memory.h>
#include <plimsoll/memory/trace.h>

#include "support/trace_mutation.h"
#include "support/training_traces.h"

namespace plimsoll {
namespace {

TEST(ReadTraceSlow, MutatedFilesGiveAnErrorOrATraceThatReplays) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    testing::Random random(seed);
    for (int i = 0; i < 20'000; ++i) {
      const bool rows = random.chance(0.5);
      const std::string text =
          testing::mutate(rows ? testing::rmm_example() : testing::buffer_list_example(), random);
      try {
        const Trace trace = parse_trace(text, "mutated");
        ASSERT_EQ(testing::check_trace(trace), "") << "seed " << seed << ", mutation " << i;
        if (i % 16 != 0) continue;
        Budget budget = Budget::root("replay", GiB(1));
        Arena arena(make_dry_pages(), budget);
        replay(trace, arena, budget.account(Tag::user, "trace"), 2);
        arena.check();
      } catch (const DataError&) {
      } catch (const OutOfMemory&) {
      }
    }
  }
}

TEST(ReplaySlow, TrainingTracesOfManySeedsStayWithinTheBars) {
  for (const testing::TrainingTraceKind& kind : testing::training_trace_kinds()) {
    for (std::uint64_t seed = 100; seed < 120; ++seed) {
      const Trace trace = kind.make(seed);
      Budget budget = Budget::root("replay");
      Arena arena(make_dry_pages(), budget);
      const ReplayResult result = replay(trace, arena, budget.account(Tag::user, "trace"), 2);
      const auto bar = static_cast<Bytes>(1.05 * static_cast<double>(trace.live_peak)) + MiB(16);
      EXPECT_LE(result.stats.mapped_peak, bar) << kind.name << ", seed " << seed;
      EXPECT_LE(result.passes[1].bytes_remapped, trace.bytes_allocated / 100)
          << kind.name << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace plimsoll

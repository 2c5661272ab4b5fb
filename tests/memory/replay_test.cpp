#include <unistd.h>

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/dry_pages.h>
#include <plimsoll/memory/out_of_memory.h>
#include <plimsoll/memory/trace.h>

#include "support/training_traces.h"

namespace plimsoll {
namespace {

struct Bench {
  explicit Bench(Bytes limit = kUnlimited, ArenaOptions options = {})
      : budget(Budget::root("replay", limit)),
        arena(make_dry_pages(), budget, std::move(options)),
        account(budget.account(Tag::user, "trace")) {}
  Budget budget;
  Arena arena;
  Account account;
};

constexpr std::string_view kThreeBlocks =
    "id,lower,upper,size\n"
    "a,0,10,1000000\n"
    "b,2,4,3000000\n"
    "c,4,9,2500000\n";

TEST(Replay, CountsEachPass) {
  const Trace trace = parse_trace(kThreeBlocks, "three");
  Bench bench;
  const ReplayResult result = replay(trace, bench.arena, bench.account, 3);
  EXPECT_EQ(result.live_peak, 4'000'000u);
  EXPECT_EQ(result.operations, 18u);
  ASSERT_EQ(result.passes.size(), 3u);
  for (const ReplayResult::Pass& pass : result.passes) {
    EXPECT_EQ(pass.operations, 6u);
    EXPECT_EQ(pass.bytes_allocated, 6'500'000u);
    EXPECT_GE(pass.mapped_peak, 4'000'000u);
  }
  EXPECT_EQ(result.passes[2].maps, 0u);
  EXPECT_EQ(result.stats.allocations, 9u);
  EXPECT_EQ(result.stats.live, 0u);
  EXPECT_GE(result.total_ns, result.stats.page_ns);
}

TEST(Replay, ReleasesWhatAPassLeavesLive) {
  const Trace trace =
      parse_trace("Thread,Time,Action,Pointer,Size,Stream\n1,1,allocate,0x100,5000000,0\n", "left");
  Bench bench;
  const ReplayResult result = replay(trace, bench.arena, bench.account, 4);
  EXPECT_EQ(result.operations, 4u);
  EXPECT_LT(result.stats.mapped_peak, 10'000'000u);
  EXPECT_EQ(bench.budget.ledger().live(), 0u);
}

TEST(Replay, EndsWithOutOfMemoryAndLeavesNothing) {
  const Trace trace = parse_trace(kThreeBlocks, "three");
  Bench bench(MiB(3));
  EXPECT_THROW(replay(trace, bench.arena, bench.account), OutOfMemory);
  EXPECT_EQ(bench.arena.stats().live, 0u);
  bench.arena.check();
}

TEST(Replay, RefusesPassesThatAreNone) {
  const Trace trace = parse_trace(kThreeBlocks, "three");
  Bench bench;
  EXPECT_THROW(replay(trace, bench.arena, bench.account, 0), InvalidArgument);
  EXPECT_THROW(replay(trace, bench.arena, bench.account, -1), InvalidArgument);
}

TEST(Replay, AnArenaRecordsWhatCanBeReplayed) {
  const std::string path = (std::filesystem::path(::testing::TempDir()) /
                            ("plimsoll_replay_" + std::to_string(getpid()) + ".csv"))
                               .string();
  const Trace made = testing::make_training_trace("cnn_small", 3);
  {
    Bench bench(kUnlimited, {.trace = std::make_shared<TraceRecorder>(path)});
    replay(made, bench.arena, bench.account);
  }
  const Trace recorded = read_trace(path);
  std::filesystem::remove(path);
  EXPECT_GE(recorded.operations.size(), made.operations.size());
  EXPECT_GE(recorded.live_peak, made.live_peak);
}

/// The bars for training traces; the numbers themselves are in `./dev bench memory`.
class TrainingTraceTest : public ::testing::TestWithParam<testing::TrainingTraceKind> {};

TEST_P(TrainingTraceTest, MapsLittleMoreThanIsLiveAndSettles) {
  for (const std::uint64_t seed : {1, 2}) {
    const Trace trace = GetParam().make(seed);
    Bench bench;
    const ReplayResult result = replay(trace, bench.arena, bench.account, 2);
    const auto bar = static_cast<Bytes>(1.05 * static_cast<double>(trace.live_peak)) + MiB(16);
    EXPECT_LE(result.stats.mapped_peak, bar) << "seed " << seed;
    EXPECT_LE(result.passes[1].bytes_remapped, trace.bytes_allocated / 100) << "seed " << seed;
    bench.arena.check();
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, TrainingTraceTest,
                         ::testing::ValuesIn(testing::training_trace_kinds().begin(),
                                             testing::training_trace_kinds().end()),
                         [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace plimsoll

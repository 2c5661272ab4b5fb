// cache(folder): what one run made later runs read; damage, kills, full disks and other processes
// cost time and never change the stream.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <random>

#include <gmock/gmock.h>

#include <plimsoll/data/disk_cache.h>

#include "data/cache_support.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

struct Fixture {
  TemporaryFolder folder;
  std::atomic<int> calls = 0;
  std::string path() const { return folder.path() / "cache"; }
  Dataset plain() { return Dataset::range(100).map(counted(calls), {.parallel = 2}); }
  Dataset cached(const CacheOptions& options = kSmall) { return plain().cache(path(), options); }
  std::string segment(int number) const {
    for (const auto& entry : fs::directory_iterator(path())) {
      return entry.path() / (std::to_string(1'000'000 + number).substr(1) + ".segment");
    }
    return {};
  }
};

TEST(DiskCache, ASecondRunMakesNothingAgain) {
  Fixture fixture;
  const auto expected = run(fixture.plain());
  fixture.calls = 0;
  EXPECT_EQ(run(fixture.cached()), expected);
  EXPECT_EQ(fixture.calls, 100);
  EXPECT_EQ(run(fixture.cached()), expected);
  EXPECT_EQ(run(fixture.cached().repeat(3)).size(), 300U);
  EXPECT_EQ(fixture.calls, 100);
  const auto entries = list_cache(fixture.path(), true);
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].elements, 100);
  EXPECT_GT(entries[0].segments, 5);
  EXPECT_TRUE(entries[0].complete);
  EXPECT_TRUE(entries[0].broken.empty());
  EXPECT_THAT(entries[0].pipeline, HasSubstr("map(counted 1)"));
  EXPECT_GT(clear_cache(fixture.path()), 40'000U);
  EXPECT_EQ(run(fixture.cached()), expected);
  EXPECT_EQ(fixture.calls, 200);
}

TEST(DiskCache, APassThatStopsLeavesWholeSegmentsForTheNextRun) {
  Fixture fixture;
  const auto expected = run(fixture.plain());
  const Device device = host();
  fixture.calls = 0;
  {
    Pipeline pipeline(fixture.cached(), device);
    EXPECT_EQ(rest_of(pipeline, 60).size(), 60U);
  }
  const int before = fixture.calls;
  EXPECT_EQ(run(fixture.cached()), expected);
  // What was in no whole segment is made again.
  EXPECT_LT(fixture.calls - before, 60);
  fixture.calls = 0;
  EXPECT_EQ(run(fixture.cached()), expected);
  EXPECT_EQ(fixture.calls, 0);
}

TEST(DiskCache, AnotherPipelineOrOtherDataHasAnotherCache) {
  Fixture fixture;
  const TemporaryFolder data;
  data.write("a.txt", "1\n2\n3\n");
  const auto lines = [&](const std::string& name) {
    MapFunction map;
    map.name = name;
    map.random = false;
    map.run = [name, &fixture](const Element& element, MapContext& context) {
      ++fixture.calls;
      return Element{context.text(name + std::string(element.at(0).text()))};
    };
    return run(
        Dataset::text_lines({(data.path() / "a.txt").string()}).map(map).cache(fixture.path()));
  };
  EXPECT_EQ(lines("v1 ").at(0), "'v1 1'");
  EXPECT_EQ(lines("v1 ").at(0), "'v1 1'");
  EXPECT_EQ(fixture.calls, 3);
  EXPECT_EQ(lines("v2 ").at(0), "'v2 1'") << "a changed function is not served stale elements";
  EXPECT_EQ(fixture.calls, 6);
  data.write("a.txt", "7\n8\n9\n");
  fs::last_write_time(data.path() / "a.txt",
                      fs::last_write_time(data.path() / "a.txt") + std::chrono::seconds(2));
  EXPECT_EQ(lines("v2 ").at(0), "'v2 7'") << "nor are changed files";
  EXPECT_EQ(list_cache(fixture.path()).size(), 3U);
}

TEST(DiskCache, TheSeedCountsOnlyWhereSomethingIsDrawn) {
  Fixture fixture;
  run(fixture.cached(), {.seed = 1});
  run(fixture.cached().shuffle(10), {.seed = 2});
  EXPECT_EQ(fixture.calls, 100) << "a shuffle after the cache is none of its business";
  const auto shuffled = [&](std::uint64_t seed) {
    return run(Dataset::range(50).shuffle().map(plus(0)).cache(fixture.path()), {.seed = seed});
  };
  EXPECT_NE(shuffled(1), shuffled(2));
  EXPECT_EQ(shuffled(1), shuffled(1));
}

TEST(DiskCache, FunctionsWithoutANameAreRefused) {
  const auto refusal = [](const Dataset& dataset) {
    return message_of([&] { dataset.cache("/nonexistent/x"); });
  };
  EXPECT_THAT(refusal(Dataset::range(3).map([](const Element& e) { return e; })),
              HasSubstr("the function of map has no name"));
  EXPECT_THAT(refusal(Dataset::range(3).filter([](const Element&) { return true; }).batch(2)),
              HasSubstr("the function of filter has no name"));
  EXPECT_THAT(refusal(Dataset::range(3).map(plus(1), {.parallel = 2, .ordered = false})),
              HasSubstr("no fixed order"));
  EXPECT_THAT(refusal(Dataset::range(3).repeat()), HasSubstr("never ends"));
}

TEST(DiskCache, AFlippedByteIsFoundNamedAndMadeAgain) {
  Fixture fixture;
  const auto expected = run(fixture.cached());
  std::mt19937 random(7);
  for (int round = 0; round < 30; ++round) {
    const std::string path = fixture.segment(static_cast<int>(random() % 5));
    std::string bytes;
    {
      std::ifstream in(path, std::ios::binary);
      bytes.assign(std::istreambuf_iterator<char>(in), {});
    }
    ASSERT_FALSE(bytes.empty()) << path;
    const std::size_t at = random() % bytes.size();
    if (round % 3 == 0) {
      bytes.resize(at);
    } else {
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    }
    std::ofstream(path, std::ios::binary) << bytes;
    const auto broken = list_cache(fixture.path(), true).at(0).broken;
    ASSERT_EQ(broken.size(), 1U) << path << " at " << at;
    EXPECT_THAT(broken[0], HasSubstr(fs::path(path).filename().string()));
    fixture.calls = 0;
    EXPECT_EQ(run(fixture.cached()), expected) << path << " at " << at;
    EXPECT_LE(fixture.calls, 40) << "one segment is made again, and what runs ahead";
    EXPECT_TRUE(list_cache(fixture.path(), true).at(0).complete);
  }
}

TEST(DiskCache, AQuotaKeepsWhatFitsAndGoesOn) {
  Fixture fixture;
  const auto expected = run(fixture.plain());
  CacheOptions options = kSmall;
  options.quota = KiB(20);
  fixture.calls = 0;
  for (int pass = 0; pass < 3; ++pass) {
    EXPECT_EQ(run(fixture.cached(options).repeat(2)).size(), 200U);
    EXPECT_EQ(run(fixture.cached(options)), expected);
  }
  const auto entry = list_cache(fixture.path(), true).at(0);
  EXPECT_LE(entry.bytes, KiB(21));
  EXPECT_GT(entry.elements, 30);
  EXPECT_FALSE(entry.complete);
  EXPECT_LT(fixture.calls, 9 * 100);
}

TEST(DiskCache, AFolderThatCannotBeWrittenIsDoneWithout) {
  std::atomic<int> calls = 0;
  const Dataset set = Dataset::range(20).map(counted(calls)).cache("/proc/none");
  EXPECT_EQ(run(set).size(), 20U);
  EXPECT_EQ(run(set.repeat(2)).size(), 40U);
}

TEST(DiskCache, APositionIsRestoredFromAnywhere) {
  Fixture fixture;
  const auto expected = run(fixture.plain().repeat(2));
  const Device device = host();
  for (int round = 0; round < 2; ++round) {
    Pipeline pipeline(fixture.cached().repeat(2), device);
    for (std::size_t at = 0; at < expected.size(); ++at) {
      if (at % 9 == 4) {
        Pipeline other(fixture.cached().repeat(2), device, {.threads = 4});
        other.restore(pipeline.save());
        const auto rest = rest_of(other);
        EXPECT_EQ(rest, std::vector<std::string>(expected.begin() + static_cast<std::ptrdiff_t>(at),
                                                 expected.end()));
        pipeline.restore(pipeline.save());
      }
      ASSERT_TRUE(pipeline.next());
    }
  }
}

TEST(DiskCache, ErrorsAreToldOnceAndTheRestIsKept) {
  Fixture fixture;
  MapFunction fails = counted(fixture.calls, "fails 1");
  fails.run = [inner = fails.run](const Element& element, MapContext& context) {
    if (number(element) % 10 == 3) throw std::runtime_error("a three");
    return inner(element, context);
  };
  const Dataset set = Dataset::range(40).map(fails).cache(fixture.path(), kSmall);
  const Device device = host();
  Pipeline pipeline(set, device);
  const auto first = rest_of(pipeline);
  EXPECT_EQ(first.size(), 40U);
  pipeline.rewind();
  EXPECT_EQ(rest_of(pipeline).size(), 36U);
  EXPECT_EQ(run(set.repeat(2)).size(), 72U);
}

TEST(DiskCache, MemoryServesWhatItHasAndGivesWay) {
  Fixture fixture;
  const auto expected = run(fixture.cached().repeat(4));
  EXPECT_EQ(run(fixture.cached().repeat(4), {.limit = MiB(1)}), expected);
  const Device device = host();
  Pipeline pipeline(fixture.cached().repeat(4), device, {.limit = MiB(8)});
  std::vector<std::string> out;
  while (const auto element = pipeline.next()) {
    out.push_back(text_of(*element));
    if (out.size() == 250) pipeline.budget().set_limit(KiB(700));
  }
  EXPECT_EQ(out, expected);
}

/// What two or more processes give that use one cache at the same time.
TEST(DiskCache, TwoProcessesAtOnceGetTheRightElements) {
  Fixture fixture;
  const auto expected = run(fixture.plain());
  std::vector<::pid_t> children;
  for (int child = 0; child < 3; ++child) {
    const ::pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) ::_exit(run(fixture.cached(), {.threads = 1}) == expected ? 0 : 1);
    children.push_back(pid);
  }
  for (const ::pid_t pid : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  fixture.calls = 0;
  EXPECT_EQ(run(fixture.cached()), expected);
  EXPECT_EQ(fixture.calls, 0);
}

/// Kills a run after a number of elements that the round decides, again and again.
void kill_runs(int rounds) {
  Fixture fixture;
  const auto expected = run(fixture.plain());
  std::mt19937 random(20'260'801);
  for (int round = 0; round < rounds; ++round) {
    if (round % 10 == 0) fs::remove_all(fixture.path());
    const auto until = random() % 110;
    const ::pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      const Device device = host();
      Pipeline pipeline(fixture.cached(), device, {.threads = 1});
      for (std::size_t i = 0; i < until && pipeline.next(); ++i) {
      }
      ::kill(::getpid(), SIGKILL);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFSIGNALED(status));
    if (round % 10 != 9) continue;
    EXPECT_EQ(run(fixture.cached()), expected) << "round " << round;
    fixture.calls = 0;
    EXPECT_EQ(run(fixture.cached()), expected) << "round " << round;
    EXPECT_EQ(fixture.calls, 0);
    for (const auto& entry : fs::recursive_directory_iterator(fixture.path())) {
      EXPECT_THAT(entry.path().filename().string(), ::testing::Not(HasSubstr(".tmp-")))
          << "what killed runs leave is removed";
    }
  }
}

TEST(DiskCache, KilledRunsLeaveACacheThatTheNextOneUses) { kill_runs(200); }

TEST(DiskCache, RunsKilledAtAnyMomentLoseAtMostASegmentPerThread) { kill_at_any_moment(20); }

}  // namespace
}  // namespace plimsoll::data::testing

#include <plimsoll/report/as_run.h>

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/dry_pages.h>
#include <plimsoll/report/html.h>

namespace plimsoll::report {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

Trace random_trace(std::uint64_t seed, int blocks) {
  std::mt19937_64 random(seed);
  std::string text = "id,lower,upper,size\n";
  for (int i = 0; i < blocks; ++i) {
    const std::uint64_t from = random() % 1000;
    text += std::to_string(i) + "," + std::to_string(from) + "," +
            std::to_string(from + 1 + random() % 200) + "," +
            std::to_string(1 + (random() % 4096 << (random() % 12))) + "\n";
  }
  return parse_trace(text, "trace");
}

TEST(DrawnTrace, HasThePeaksOfTheReplayAndBlocksThatDoNotOverlap) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    const Trace trace = random_trace(seed, 3000);
    const Budget budget = Budget::root("replay");
    Arena arena(make_dry_pages(KiB(64)), budget, {.address_space = GiB(1024)});
    const ReplayResult result = replay(trace, arena, budget.account(Tag::user, "trace"), 2);

    const report::Run run = as_run(trace, {.page_size = KiB(64), .passes = 2});
    EXPECT_EQ(run.state, RunState::replayed);
    EXPECT_EQ(run.devices.front().peak.used, result.stats.mapped_peak);
    Bytes most = 0;
    for (const RunMemory& sample : run.devices.front().memory) {
      Bytes sum = 0;
      for (const RunHeld& held : sample.held) sum += held.bytes;
      EXPECT_LE(sum, sample.used);
      most = std::max(most, sum);
    }
    EXPECT_EQ(most, trace.live_peak);

    const json values = json::parse(run.plans.front().timeline).at("values");
    const auto range = json::parse(run.plans.front().json).at("range").get<Bytes>();
    EXPECT_EQ(values.size(), 6000U);
    std::vector<json> rows(values.begin(), values.end());
    for (std::size_t i = 0; i < rows.size(); i += 97) {
      ASSERT_LE(rows[i][3].get<Bytes>() + rows[i][4].get<Bytes>(), range);
      for (std::size_t j = 0; j < rows.size(); ++j) {
        if (i == j) continue;
        const bool apart_in_time = rows[i][6] <= rows[j][5] || rows[j][6] <= rows[i][5];
        const bool apart =
            rows[i][3].get<Bytes>() + rows[i][4].get<Bytes>() <= rows[j][3].get<Bytes>() ||
            rows[j][3].get<Bytes>() + rows[j][4].get<Bytes>() <= rows[i][3].get<Bytes>();
        ASSERT_TRUE(apart_in_time || apart) << rows[i] << " and " << rows[j];
      }
    }
  }
}

TEST(DrawnTrace, OfALongTraceKeepsItsPeakAndItsLargestBlocks) {
  const Trace trace = random_trace(7, 40'000);
  const report::Run run = as_run(trace, {});
  EXPECT_LE(run.devices.front().memory.size(), 4001U);
  Bytes most = 0;
  for (const RunHeld& held : run.devices.front().peak.held) most += held.bytes;
  EXPECT_EQ(most, trace.live_peak);
  EXPECT_LE(html(run).size(), 2'000'000U);
}

TEST(DrawnTrace, ThatExceedsItsLimitEndsWithTheRefusal) {
  const Trace trace = parse_trace("id,lower,upper,size\na,0,9,4194304\nb,1,9,8388608\n", "trace");
  const report::Run run = as_run(trace, {.limit = MiB(8)});
  EXPECT_EQ(json::parse(run.out_of_memory).at("requested"), 8388608);
  EXPECT_THAT(run.ending, HasSubstr("8 MiB"));
  EXPECT_EQ(json::parse(run.begin).at("operations"), 1);
  EXPECT_THROW(as_run(trace, {.passes = 0}), InvalidArgument);
}

TEST(DrawnTrace, OfNothingIsAPageToo) {
  EXPECT_THAT(html(as_run(parse_trace("id,lower,upper,size\n", "trace"), {})),
              HasSubstr("replayed"));
}

OutOfMemoryReport refused() {
  const Budget budget = Budget::root("cpu:0", MiB(4));
  Arena arena(make_dry_pages(KiB(64)), budget, {});
  const Block held = arena.allocate(MiB(3), budget.account(Tag::cache, "</script><b>"));
  try {
    const Block more = arena.allocate(MiB(2), budget.account(Tag::activations, "conv1"));
  } catch (const OutOfMemory& error) {
    return error.report();
  }
  throw InternalError("nothing was refused");
}

TEST(DrawnRefusal, HasWhoHeldWhatAndIsInert) {
  const OutOfMemoryReport report = refused();
  const report::Run run = as_run(report);
  const json drawn = json::parse(run.out_of_memory);
  EXPECT_EQ(drawn.at("requested"), MiB(2));
  EXPECT_EQ(drawn.at("used"), report.used);
  EXPECT_EQ(drawn.at("limit"), MiB(4));
  ASSERT_EQ(drawn.at("holders").size(), 1U);
  EXPECT_EQ(drawn.at("holders")[0].at("bytes"), report.holders[0].bytes);
  EXPECT_EQ(drawn.at("remedies").size(), report.remedies.size());
  EXPECT_EQ(run.verdict(), "2 MiB was refused by cpu:0");
  EXPECT_THAT(html(run), Not(HasSubstr("</script><b>")));
  // The same from its JSON, as a file may have it.
  EXPECT_EQ(read_run_log(report.to_json()).out_of_memory, run.out_of_memory);
}

TEST(DrawnRefusal, IsReadFromTheLineThatEndedARun) {
  const report::Run run = read_run_log(
      "{\"time\":0,\"event\":\"run\",\"format\":2}\n"
      "{\"time\":1,\"event\":\"failed\",\"message\":\"m\",\"out_of_memory\":" +
      refused().to_json() + "}\n");
  EXPECT_EQ(run.state, RunState::failed);
  EXPECT_EQ(json::parse(run.out_of_memory).at("label"), "conv1");
  EXPECT_THAT(run.events.back().json, Not(HasSubstr("out_of_memory"))) << "it is not there twice";
}

TEST(DrawnRefusal, OfRubbishHasFieldsOfTheirTypes) {
  const report::Run run = read_run_log(
      "{\"time\":0,\"event\":\"failed\",\"message\":\"m\",\"leak\":{\"history\":[1,\"x\",null]},"
      "\"out_of_memory\":{\"requested\":\"x\",\"holders\":[5,{\"bytes\":-1,\"tag\":7}],"
      "\"remedies\":{}}}\n"
      "{\"time\":0,\"event\":\"curve\",\"points\":[{\"budget\":1},7,{\"budget\":2,\"seconds\":3}]}"
      "\n");
  const json refusal = json::parse(run.out_of_memory);
  EXPECT_EQ(refusal.at("requested"), 0);
  EXPECT_EQ(refusal.at("holders").size(), 1U);
  EXPECT_EQ(refusal.at("holders")[0].at("bytes"), 0);
  EXPECT_EQ(refusal.at("remedies").size(), 0U);
  EXPECT_EQ(json::parse(run.leak).at("history"), json({1, 0, 0}));
  EXPECT_EQ(json::parse(run.curve), json::parse("[{\"budget\":2,\"seconds\":3.0}]"));
}

TEST(DrawnLeak, HasHowItGrew) {
  const report::Run run = as_run(train::LeakReport{.budget = "cpu:0",
                                                   .label = "kept",
                                                   .what = "epoch",
                                                   .index = 3,
                                                   .first = 0,
                                                   .bytes = 768,
                                                   .history = {0, 256, 512, 768}});
  EXPECT_EQ(json::parse(run.leak).at("history"), json({0, 256, 512, 768}));
  EXPECT_EQ(run.verdict(), "768 B of user 'kept' in cpu:0 only ever grows");
}

}  // namespace
}  // namespace plimsoll::report

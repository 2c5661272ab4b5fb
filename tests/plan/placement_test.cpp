#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include <plimsoll/base/error.h>
#include <plimsoll/plan/placement.h>

#include "plan/placement_instances.h"
#include "support/instrumented.h"

namespace plimsoll::plan {
namespace {

using ::testing::HasSubstr;

constexpr auto kLong = std::chrono::seconds(120);
/// Where the clock is part of what is tested.
constexpr auto kShort = std::chrono::seconds(plimsoll::testing::kInstrumented ? 20 : 2);

/// True if some offsets below `height` suit the buffers from `next` on, those before being placed:
/// all offsets are tried.
bool fits(const std::vector<Buffer>& buffers, Bytes alignment, Bytes height,
          std::vector<Bytes>& offsets, std::size_t next = 0) {
  if (next == buffers.size()) return true;
  const Buffer& buffer = buffers[next];
  const Bytes step = std::max(alignment, buffer.alignment);
  for (offsets[next] = 0; offsets[next] + buffer.size <= height; offsets[next] += step) {
    bool free = true;
    for (std::size_t i = 0; i < next && free; ++i) {
      const Buffer& other = buffers[i];
      free = other.upper <= buffer.lower || buffer.upper <= other.lower ||
             offsets[i] + other.size <= offsets[next] || offsets[next] + buffer.size <= offsets[i];
    }
    if (free && fits(buffers, alignment, height, offsets, next + 1)) return true;
  }
  return false;
}

Bytes least_height(std::vector<Buffer> buffers, Bytes alignment) {
  std::sort(buffers.begin(), buffers.end(),
            [](const Buffer& a, const Buffer& b) { return a.lower < b.lower; });
  Bytes height = 0;
  for (const Buffer& at : buffers) {
    Bytes live = 0;
    for (const Buffer& buffer : buffers) {
      if (buffer.lower <= at.lower && at.lower < buffer.upper) live += buffer.size;
    }
    height = std::max(height, live);
  }
  std::vector<Bytes> offsets(buffers.size());
  while (!fits(buffers, alignment, height, offsets)) ++height;
  return height;
}

void expect_sound(const std::vector<Buffer>& buffers, const Placement& placement, Bytes alignment) {
  ASSERT_EQ(placement.offsets.size(), buffers.size());
  EXPECT_EQ(plimsoll::testing::find_overlap(buffers, placement), "");
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(placement.offsets[i] % std::max(alignment, buffers[i].alignment), 0u) << i;
  }
  EXPECT_GE(placement.height, placement.lower_bound);
  EXPECT_GE(placement.lower_bound, placement_lower_bound(buffers, alignment));
  EXPECT_NO_THROW(check_placement(buffers, placement, alignment));
}

TEST(Placement, NoBuffersTakeNothing) {
  const Placement placement = place({});
  EXPECT_EQ(placement.height, 0u);
  EXPECT_TRUE(placement.proven_optimal);
  EXPECT_TRUE(placement.offsets.empty());
}

TEST(Placement, BuffersThatAreNeverLiveTogetherShareTheirBytes) {
  const std::vector<Buffer> buffers = {{100, 0, 5}, {80, 5, 9}, {100, 9, 10}};
  const Placement placement = place(buffers, {.alignment = 1});
  EXPECT_EQ(placement.height, 100u);
  EXPECT_EQ(placement.offsets, (std::vector<Bytes>{0, 0, 0}));
  EXPECT_TRUE(placement.proven_optimal);
}

TEST(Placement, BuffersWithoutSizeOrLifetimeTakeNothing) {
  const std::vector<Buffer> buffers = {{0, 0, 5}, {80, 5, 5}, {7, -3, 4}, {0, 2, 2}};
  const Placement placement = place(buffers, {.alignment = 1});
  EXPECT_EQ(placement.height, 7u);
  EXPECT_EQ(placement.offsets, (std::vector<Bytes>{0, 0, 0, 0}));
}

TEST(Placement, OffsetsAreAlignedAndTheHeightIsRounded) {
  const std::vector<Buffer> buffers = {{1, 0, 2}, {257, 0, 2}, {256, 1, 3, 4096}};
  const Placement placement = place(buffers, {.alignment = 256});
  expect_sound(buffers, placement, 256);
  EXPECT_EQ(placement.height % 256, 0u);
  EXPECT_EQ(placement.height, 1024u);
}

TEST(Placement, ExtremeTimesAndSizesAreTaken) {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  const std::vector<Buffer> buffers = {
      {Bytes{1} << 59, kMin, kMax}, {Bytes{1} << 59, kMin, 0}, {Bytes{1} << 59, 0, kMax}};
  const Placement placement = place(buffers, {.alignment = 1});
  EXPECT_EQ(placement.height, Bytes{1} << 60);
  expect_sound(buffers, placement, 1);
}

TEST(Placement, TheHeightOfTinyListsIsTheLeastThereIs) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<Buffer> buffers(1 + random() % 6);
    const Bytes alignment = seed % 3 == 0 ? 4 : 1;
    for (Buffer& buffer : buffers) {
      buffer.size = (1 + random() % 12) * alignment;
      buffer.lower = static_cast<std::int64_t>(random() % 8);
      buffer.upper = buffer.lower + 1 + static_cast<std::int64_t>(random() % 6);
      if (seed % 5 == 0) buffer.alignment = Bytes{1} << (random() % 4);
    }
    const Placement placement = place(buffers, {.time_limit = kLong, .alignment = alignment});
    expect_sound(buffers, placement, alignment);
    if (seed % 5 != 0) {  // mixed alignments round the height, too
      EXPECT_EQ(placement.height, least_height(buffers, alignment));
      EXPECT_TRUE(placement.proven_optimal);
    } else {
      EXPECT_LE(placement.height, align_up(least_height(buffers, alignment), 8));
      EXPECT_GE(placement.height, least_height(buffers, alignment));
    }
  }
}

TEST(Placement, AHeightAboveTheLoadIsProvenWhereItIsTheLeast) {
  int above = 0;  // rare: the last seed gives one
  for (std::uint64_t seed = 668; seed <= 767; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Buffer> buffers(12);
    for (Buffer& buffer : buffers) {
      buffer.size = 1 + random() % 2;
      buffer.lower = static_cast<std::int64_t>(random() % 12);
      buffer.upper = buffer.lower + 1 + static_cast<std::int64_t>(random() % 5);
    }
    const Placement placement = place(buffers, {.time_limit = kLong, .alignment = 1});
    ASSERT_TRUE(placement.proven_optimal) << seed;
    ASSERT_EQ(placement.height, least_height(buffers, 1)) << seed;
    ASSERT_EQ(placement.lower_bound, placement.height) << seed;
    if (placement.height > placement_lower_bound(buffers)) ++above;
  }
  EXPECT_GT(above, 0);
}

TEST(Placement, SquaresCutIntoPiecesAreFilledAgain) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    const double share = static_cast<double>(seed) / 6;
    const std::vector<Buffer> buffers = plimsoll::testing::cut_square(
        seed, {.pieces = 120, .fill = 0.9 + 0.1 * share, .area_power = 0.2 + 0.5 * share});
    const Placement placement =
        place(buffers, {.capacity = MiB(1), .time_limit = kLong, .alignment = 1});
    EXPECT_LE(placement.height, MiB(1));
    EXPECT_FALSE(placement.out_of_time);
    expect_sound(buffers, placement, 1);
  }
}

TEST(Placement, LargeRandomListsComeCloseToTheBound) {
  for (const double live : {50, 150}) {
    const std::vector<Buffer> buffers = plimsoll::testing::random_buffers(7, 1500, live);
    const Placement placement = place(buffers, {.capacity = 0, .time_limit = kShort});
    expect_sound(buffers, placement, 256);
    EXPECT_LE(static_cast<double>(placement.height),
              1.02 * static_cast<double>(placement.lower_bound));
  }
}

TEST(Placement, TrainingStepsComeWithinAThousandthOfTheBound) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const std::vector<Buffer> buffers = plimsoll::testing::training_step(seed, 200);
    const Placement placement = place(buffers, {.time_limit = kLong, .alignment = 1});
    expect_sound(buffers, placement, 1);
    EXPECT_LE(static_cast<double>(placement.height),
              1.001 * static_cast<double>(placement.lower_bound))
        << seed;
  }
}

TEST(Placement, TheSameInputGivesTheSameResult) {
  const std::vector<Buffer> square = plimsoll::testing::cut_square(11, {.pieces = 150});
  const PlacementOptions within = {.capacity = MiB(1), .time_limit = kLong, .alignment = 1};
  const Placement once = place(square, within);
  ASSERT_FALSE(once.out_of_time);
  EXPECT_EQ(place(square, within).offsets, once.offsets);

  const std::vector<Buffer> step = plimsoll::testing::training_step(3, 150);
  EXPECT_EQ(place(step, {.time_limit = kLong}).offsets, place(step, {.time_limit = kLong}).offsets);
}

TEST(Placement, TheFastWayIsSoundAndNeverBelowTheSearch) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const std::vector<Buffer> buffers = plimsoll::testing::random_buffers(seed, 800, 60);
    const Placement fast = place_fast(buffers);
    expect_sound(buffers, fast, 256);
    EXPECT_FALSE(fast.out_of_time);
    EXPECT_LE(place(buffers, {.time_limit = std::chrono::milliseconds(100)}).height, fast.height);
    EXPECT_LE(static_cast<double>(fast.height), 1.1 * static_cast<double>(fast.lower_bound));
  }
}

TEST(Placement, ACapacityThatCannotBeIsAnOrdinaryResult) {
  const std::vector<Buffer> buffers = {{100, 0, 2}, {100, 1, 3}};
  const Placement placement = place(buffers, {.capacity = 150, .alignment = 1});
  EXPECT_EQ(placement.height, 200u);
  EXPECT_EQ(placement.lower_bound, 200u);
  EXPECT_TRUE(placement.proven_optimal);
  EXPECT_FALSE(placement.out_of_time);
}

TEST(Placement, NoTimeLeavesTheHeuristics) {
  const std::vector<Buffer> buffers = plimsoll::testing::cut_square(5, {});
  const Placement placement =
      place(buffers, {.capacity = MiB(1), .time_limit = {}, .alignment = 1});
  expect_sound(buffers, placement, 1);
  EXPECT_TRUE(placement.out_of_time);
}

template <typename Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Placement, MistakesAreNamed) {
  const std::vector<Buffer> backwards = {{1, 0, 1}, {1, 7, 3}};
  EXPECT_THAT(message_of([&] { place(backwards); }), HasSubstr("buffer 1 has lower 7 and upper 3"));
  const std::vector<Buffer> odd = {{1, 0, 1, 24}};
  EXPECT_THAT(message_of([&] { place(odd); }), HasSubstr("24 is not a power of two"));
  const std::vector<Buffer> fine = {{1, 0, 1}};
  EXPECT_THAT(message_of([&] { place_fast(fine, {.alignment = 0}); }), HasSubstr("alignment 0"));
  EXPECT_THAT(message_of([&] { place(fine, {.alignment = Bytes{1} << 33}); }),
              HasSubstr("power of two"));
  for (const Bytes size : {Bytes{1} << 61, kUnlimited, kUnlimited - 300}) {
    const std::vector<Buffer> huge = {{1, 0, 1}, {size, 0, 1}, {size, 2, 3}};
    EXPECT_THAT(message_of([&] { place(huge); }), HasSubstr("2^61")) << size;
  }
}

TEST(Placement, TheCheckFindsWhatIsWrong) {
  const std::vector<Buffer> buffers = {{10, 0, 4}, {10, 3, 6}, {10, 4, 8}};
  Placement placement = {.offsets = {0, 10, 0}, .height = 20};
  EXPECT_NO_THROW(check_placement(buffers, placement));
  EXPECT_THROW(check_placement(buffers, placement, 4), InternalError);
  placement.height = 19;
  EXPECT_THROW(check_placement(buffers, placement), InternalError);
  placement = {.offsets = {0, 9, 20}, .height = 30};
  EXPECT_THROW(check_placement(buffers, placement), InternalError);
  placement = {.offsets = {0, 10, 15}, .height = 30};
  EXPECT_THROW(check_placement(buffers, placement), InternalError);
  placement = {.offsets = {0, 10}, .height = 30};
  EXPECT_THROW(check_placement(buffers, placement), InternalError);
}

TEST(BufferList, ColumnsMayComeInAnyOrder) {
  const BufferList list = parse_buffer_list(
      "\xEF\xBB\xBFsize,note,upper,id,lower\r\n\n64,x,9,a b,2\r\n1,,5,7,0\n", "list");
  EXPECT_EQ(list.ids, (std::vector<std::string>{"a b", "7"}));
  ASSERT_EQ(list.buffers.size(), 2u);
  EXPECT_EQ(list.buffers[0].size, 64u);
  EXPECT_EQ(list.buffers[0].lower, 2);
  EXPECT_EQ(list.buffers[0].upper, 9);
  EXPECT_EQ(list.buffers[1].upper, 5);
}

TEST(BufferList, ALogOfAllocationsIsRefused) {
  EXPECT_THROW(parse_buffer_list("Thread,Time,Action,Pointer,Size,Stream\n", "log"), DataError);
  EXPECT_THROW(parse_buffer_list("id,lower,upper,size\na,1,0,5\n", "list"), DataError);
}

}  // namespace
}  // namespace plimsoll::plan

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include <plimsoll/plan/placement.h>

#include "plan/placement_instances.h"
#include "support/source_dir.h"

namespace plimsoll::plan {
namespace {

/// The folder of published buffer lists: what PLIMSOLL_TRACES names, else the nearest shared/traces
/// in or above the repository. Empty if there is none.
std::filesystem::path traces_folder() {
  if (const char* const named = std::getenv("PLIMSOLL_TRACES")) return named;
  const std::filesystem::path tests = test_source_dir();
  for (std::filesystem::path at = tests; at.has_relative_path(); at = at.parent_path()) {
    if (std::filesystem::is_directory(at / "shared" / "traces")) return at / "shared" / "traces";
  }
  return {};
}

/// Files of it whose names begin with `prefix`.
std::set<std::filesystem::path> traces(const std::string& prefix) {
  std::set<std::filesystem::path> found;
  const std::filesystem::path folder = traces_folder();
  if (folder.empty()) return found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with(prefix)) found.insert(entry.path());
  }
  return found;
}

constexpr const char* kWhere = " in $PLIMSOLL_TRACES, or in shared/traces here or above";

double ratio(const Placement& placement) {
  return static_cast<double>(placement.height) / static_cast<double>(placement.lower_bound);
}

TEST(PlacementSlow, SquaresOfManyKindsAreFilledAgain) {
  int missed = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
    const std::vector<Buffer> buffers =
        plimsoll::testing::cut_square(seed, {.pieces = 150 + static_cast<int>(70 * uniform()),
                                             .fill = 0.88 + 0.12 * uniform(),
                                             .area_power = 0.1 + 0.7 * uniform(),
                                             .along_time = 0.45 + 0.25 * uniform()});
    const Placement placement = place(
        buffers, {.capacity = MiB(1), .time_limit = std::chrono::seconds(10), .alignment = 1});
    EXPECT_EQ(plimsoll::testing::find_overlap(buffers, placement), "") << seed;
    if (placement.height > MiB(1)) ++missed;
  }
  // It is a search against a clock: a hard one may be missed.
  EXPECT_LE(missed, 3);
}

TEST(PlacementSlow, RandomListsOfTwentyThousandAreWithinFivePercent) {
  for (const double live : {50, 100, 200}) {
    const auto seed = static_cast<std::uint64_t>(live) + 1;
    const std::vector<Buffer> buffers = plimsoll::testing::random_buffers(seed, 20'000, live);
    const Placement placement =
        place(buffers, {.time_limit = std::chrono::seconds(10), .alignment = 1});
    EXPECT_NO_THROW(check_placement(buffers, placement));
    EXPECT_LE(ratio(placement), 1.02) << live;
  }
}

TEST(PlacementSlow, ThePublishedHardListsFitTheirCapacity) {
  const auto files = traces("minimalloc-");
  if (files.empty()) GTEST_SKIP() << "no minimalloc-*.csv" << kWhere;
  for (const auto& file : files) {
    const BufferList list = read_buffer_list(file.string());
    const Placement placement =
        place(list.buffers,
              {.capacity = 1'048'576, .time_limit = std::chrono::seconds(10), .alignment = 1});
    EXPECT_LE(placement.height, 1'048'576u) << file;
    EXPECT_EQ(plimsoll::testing::find_overlap(list.buffers, placement), "") << file;
  }
}

TEST(PlacementSlow, RecordedStepsAreWithinThreeThousandths) {
  const auto files = traces("somas-");
  if (files.empty()) GTEST_SKIP() << "no somas-*.csv" << kWhere;
  for (const auto& file : files) {
    const BufferList list = read_buffer_list(file.string());
    const Placement placement =
        place(list.buffers, {.time_limit = std::chrono::seconds(2), .alignment = 1});
    EXPECT_LE(ratio(placement), 1.003) << file;
    EXPECT_EQ(plimsoll::testing::find_overlap(list.buffers, placement), "") << file;
  }
}

}  // namespace
}  // namespace plimsoll::plan

// The system's own figure for the command: peak RSS at most the budget plus 64 MiB.

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <sys/wait.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "data/pipeline_support.h"

namespace plimsoll::data::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

struct Outcome {
  int status = -1;
  std::string text;
};

Outcome bench(const TemporaryFolder& folder, const std::string& arguments) {
  const fs::path command = fs::read_symlink("/proc/self/exe").parent_path() / "../bin/plimsoll";
  const std::string line = fmt::format("{} data bench {} --json {} 2>&1", command.string(),
                                       folder.path().string(), arguments);
  Outcome outcome;
  std::FILE* const pipe = ::popen(line.c_str(), "r");
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) outcome.text += buffer;
  outcome.status = WEXITSTATUS(::pclose(pipe));
  return outcome;
}

void write_photographs(const TemporaryFolder& folder, int count, int width, int height) {
  const auto file = image::testing::make_jpeg({.width = width, .height = height, .seed = 5});
  for (int i = 0; i < count; ++i) {
    folder.write(fmt::format("a/{:04}.jpg", i), file.data(), file.size());
  }
}

void expect_within(const TemporaryFolder& folder, Bytes mib, int batch, int images) {
  const Outcome outcome = bench(folder, fmt::format("--budget {}MiB --batch {}", mib, batch));
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  const auto result = nlohmann::json::parse(outcome.text);
  EXPECT_EQ(result.at("images").get<int>(), images);
  EXPECT_LE(result.at("budget_peak").get<Bytes>(), MiB(mib));
  EXPECT_LE(result.at("rss_peak").get<Bytes>(), MiB(mib) + MiB(64)) << "of " << mib << " MiB";
}

TEST(Rss, StaysWithinTheBudgetWithPictures) {
  const TemporaryFolder folder;
  write_photographs(folder, 600, 500, 375);
  expect_within(folder, 32, 16, 600);
  expect_within(folder, 64, 16, 600);
  expect_within(folder, 256, 128, 600);
  expect_within(folder, 1024, 128, 600);
}

TEST(Rss, StaysWithinTheBudgetWithLargePhotographs) {
  const TemporaryFolder folder;
  write_photographs(folder, 70, 4608, 3456);
  expect_within(folder, 160, 32, 70);
}

TEST(Rss, BelowTheMinimumTheCommandSaysTheNumber) {
  const TemporaryFolder folder;
  write_photographs(folder, 4, 500, 375);
  const Outcome outcome = bench(folder, "--budget 8MiB --batch 128");
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.text, HasSubstr("raise the budget to 7"));
}

}  // namespace
}  // namespace plimsoll::data::testing

#include <plimsoll/base/run_log.h>

#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>
#include <plimsoll/base/log_sink.h>

namespace plimsoll {
namespace {

TEST(RunLog, IsOneObjectPerLine) {
  const std::string path =
      (std::filesystem::path(::testing::TempDir()) / ("run_log-" + std::to_string(::getpid())))
          .string();
  {
    RunLog log(path);
    log.write("step", {{"step", std::int64_t{3}}, {"loss", 0.5}, {"text", std::string("a\"b")}});
    log.write("nothing", {{"value", std::nan("")}});
  }
  RunLog(path).write("again");
  std::ifstream file(path);
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  std::filesystem::remove(path);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["event"], "step");
  EXPECT_EQ(lines[0]["step"], 3);
  EXPECT_EQ(lines[0]["text"], "a\"b");
  EXPECT_GE(lines[0]["time"], 0.0);
  EXPECT_TRUE(lines[1]["value"].is_null());
  EXPECT_EQ(lines[2]["event"], "again");
}

/// A file that may not grow, as on a full disk: the line that meets the end is cut off, and those
/// after it are whole again once there is room.
TEST(RunLog, ALineThatWasCutOffEndsBeforeTheNext) {
  const std::string path =
      (std::filesystem::path(::testing::TempDir()) / ("run_cut-" + std::to_string(::getpid())))
          .string();
  std::string warning;
  set_log_sink([&](LogLevel, std::string_view text) { warning += text; });
  rlimit unlimited = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  {
    RunLog log(path);
    log.write("first");
    const rlimit small = {std::filesystem::file_size(path) + 10, unlimited.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    log.write("cut");
    log.write("lost");
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    log.write("last");
  }
  (void)std::signal(SIGXFSZ, handler);
  set_log_sink(nullptr);
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  std::filesystem::remove(path);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(nlohmann::json::parse(lines[0])["event"], "first");
  EXPECT_EQ(nlohmann::json::parse(lines[2])["event"], "last");
  EXPECT_NE(warning.find("File too large"), std::string::npos) << warning;
}

TEST(RunLog, LeavesFilesAloneThatAreNoLogs) {
  const std::string path =
      (std::filesystem::path(::testing::TempDir()) / ("run_other-" + std::to_string(::getpid())))
          .string();
  std::ofstream(path) << "a,b\n1,2\n";
  EXPECT_THROW(RunLog{path}, DataError);
  EXPECT_EQ(std::filesystem::file_size(path), 8U);
  std::filesystem::remove(path);
}

TEST(RunLog, SaysOnceWhatRuns) {
  const std::string path =
      (std::filesystem::path(::testing::TempDir()) / ("run_line-" + std::to_string(::getpid())))
          .string();
  {
    RunLog log(path);
    EXPECT_TRUE(log.writes());
    log.begin({{"model", std::string("lenet")}, {"list", RunLog::Json{"[1,2]"}}});
    log.begin();
    log.write("text", {{"broken", std::string("\xff\n\x01</script>")}});
  }
  std::ifstream file(path);
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  std::filesystem::remove(path);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["event"], "run");
  EXPECT_EQ(lines[0]["format"], RunLog::kFormat);
  EXPECT_EQ(lines[0]["pid"], ::getpid());
  EXPECT_EQ(lines[0]["model"], "lenet");
  EXPECT_EQ(lines[0]["list"][1], 2);
  EXPECT_EQ(lines[1]["broken"], "\xEF\xBF\xBD\n\x01</script>");
}

TEST(RunLog, NamesAFileThatCannotBeWritten) {
  EXPECT_THROW(RunLog("/no/such/folder/log"), DataError);
  RunLog().write("goes nowhere", {{"x", true}});
}

}  // namespace
}  // namespace plimsoll

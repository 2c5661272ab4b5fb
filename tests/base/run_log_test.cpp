#include <plimsoll/base/run_log.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/error.h>

namespace plimsoll {
namespace {

TEST(RunLog, IsOneObjectPerLine) {
  const std::string path =
      (std::filesystem::path(testing::TempDir()) / ("run_log-" + std::to_string(::getpid())))
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

TEST(RunLog, SaysOnceWhatRuns) {
  const std::string path =
      (std::filesystem::path(testing::TempDir()) / ("run_line-" + std::to_string(::getpid())))
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

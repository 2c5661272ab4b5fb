#include "report/page_data.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <plimsoll/report/html.h>

#include "report/sample_log.h"

namespace plimsoll::report {
namespace {

using nlohmann::json;

TEST(PageData, NeverLosesAPeak) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const int steps = 1 + static_cast<int>(seed * 997 % 12'000);
    const test::RandomLog log = test::random_log(seed, steps);
    const report::Run run = read_run_log(log.text);
    const json data = json::parse(page_data({&run, 1}))["runs"][0];
    const json& device = data["devices"][0];
    SCOPED_TRACE("seed " + std::to_string(seed));
    EXPECT_EQ(*std::max_element(device["used"].begin(), device["used"].end()), log.used);
    EXPECT_EQ(*std::max_element(device["system"].begin(), device["system"].end()), log.system);
    EXPECT_EQ(device["peak"]["used"], log.used);
    const json& shown = data["steps"];
    EXPECT_EQ(*std::max_element(shown["loss_max"].begin(), shown["loss_max"].end()), log.loss_max);
    EXPECT_EQ(*std::min_element(shown["loss_min"].begin(), shown["loss_min"].end()), log.loss_min);
    EXPECT_EQ(*std::max_element(shown["used"].begin(), shown["used"].end()), log.used);
    std::int64_t all = 0;
    for (const json& each : shown["steps"]) all += each.get<std::int64_t>();
    EXPECT_EQ(all, steps);
  }
}

TEST(PageData, KeepsEveryMoveOfALimit) {
  std::vector<RunMemory> memory(50'000);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    memory[i].time = static_cast<double>(i);
    memory[i].limit = 1000 + i / 1000;
  }
  const std::vector<std::size_t> kept = thinned(memory, 300);
  EXPECT_LE(kept.size(), 400U);
  for (std::size_t i = 1000; i < memory.size(); i += 1000) {
    EXPECT_TRUE(std::ranges::binary_search(kept, i)) << i;
  }
}

TEST(Html, OfAHundredThousandStepsIsSmall) {
  const test::RandomLog log = test::random_log(5, 100'000);
  const report::Run run = read_run_log(log.text);
  EXPECT_EQ(run.steps.size(), 100'000U);
  EXPECT_LT(html(run).size(), 5'000'000U);
}

TEST(Html, MakesNamesInert) {
  const std::string evil =
      "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`\\ \xE2\x80\xA8 <!-- " +
      std::string("\xff\xfe broken ") + std::string(10'000, 'x');
  report::Run run = read_run_log(test::sample_log(), evil);
  run.path = evil;
  run.ending = evil;
  run.options[evil] = evil;
  for (RunHolder& holder : run.holders) holder.label = holder.tag = evil;
  run.events.push_back({0, evil, json{{"event", "note"}, {"text", "</script>"}}.dump()});
  const std::string page = html(run);
  const std::string data = html_data({&run, 1});
  EXPECT_EQ(data.find('<'), std::string::npos);
  EXPECT_EQ(data.find("\xE2\x80\xA8"), std::string::npos);
  EXPECT_TRUE(json::accept(data)) << "valid UTF-8, too";
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  // The page's own two scripts, and no other.
  std::size_t scripts = 0;
  for (std::size_t at = page.find("<script"); at != std::string::npos;
       at = page.find("<script", at + 1)) {
    ++scripts;
  }
  EXPECT_EQ(scripts, 2U);
}

TEST(Html, AsksNothingOfAnyNetwork) {
  const report::Run run = read_run_log(test::sample_log(), "sample");
  const std::string page = html(run);
  // The name of SVG's elements is the one address in it, and nothing is loaded from there.
  for (std::size_t at = page.find("http"); at != std::string::npos;
       at = page.find("http", at + 1)) {
    const std::string_view rest = std::string_view(page).substr(at, 26);
    EXPECT_TRUE(rest == "http://www.w3.org/2000/svg" || rest.starts_with("http-equiv")) << rest;
  }
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(page.find("connect-src"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll::report

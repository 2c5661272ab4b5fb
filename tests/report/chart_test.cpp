#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/nn/models.h>
#include <plimsoll/report/chart.h>
#include <plimsoll/train/trainer.h>

#include "support/own_device.h"
#include "support/toy_training.h"

namespace plimsoll {
namespace {

using report::ChartOptions;
using report::Series;
using ::testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Series series_of(const std::vector<double>& values) {
  Series series;
  for (const double value : values) series.add(value);
  return series;
}

TEST(Series, KeepsMeanAndExtremesInABoundedNumberOfPoints) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> draw(-5, 5);
  for (const int count : {1, 2, 7, 8, 9, 100, 1000, 12345}) {
    Series series(8);
    double sum = 0;
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (int i = 0; i < count; ++i) {
      const double value = draw(random);
      series.add(value);
      sum += value;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    ASSERT_LE(series.points().size(), 8U);
    double seen = 0;
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    std::int64_t counted = 0;
    for (const Series::Point& point : series.points()) {
      seen += point.mean * static_cast<double>(point.count);
      counted += point.count;
      least = std::min(least, point.low);
      most = std::max(most, point.high);
    }
    EXPECT_EQ(counted, count);
    EXPECT_EQ(series.count(), count);
    EXPECT_NEAR(seen, sum, 1e-9 * count) << count;
    EXPECT_EQ(least, low);
    EXPECT_EQ(most, high);
  }
}

TEST(Series, LeavesOutWhatIsNotANumber) {
  Series series;
  series.add(std::nan(""));
  EXPECT_EQ(report::draw(series), "");
  series.add(1);
  series.add(std::numeric_limits<double>::infinity());
  EXPECT_EQ(series.count(), 1);
  EXPECT_EQ(series.last(), 1);
}

TEST(Chart, DrawsAFallingCurveFromTheUpperLeftToTheLowerRight) {
  std::vector<double> values(16);
  for (int i = 0; i < 16; ++i) values[static_cast<std::size_t>(i)] = 16 - i;
  const std::string text =
      report::draw(series_of(values), {.columns = 23, .rows = 4, .plain = true});
  EXPECT_EQ(text,
            "   16|#::.\n"
            "     |#####::.\n"
            "     |#########::.\n"
            "     |#############::.\n"
            "    0+----------------\n"
            " step 1             16\n");
}

TEST(Chart, FitsTheColumnsItIsGiven) {
  std::mt19937 random(3);
  for (const std::size_t columns : {20, 33, 80, 200}) {
    for (const int count : {1, 2, 5, 79, 3000}) {
      Series series;
      for (int i = 0; i < count; ++i) series.add(static_cast<double>(random() % 1000));
      const auto lines = lines_of(report::draw(series, {.columns = columns, .plain = true}));
      ASSERT_EQ(lines.size(), 10U);
      for (const std::string& line : lines) EXPECT_LE(line.size(), columns) << count;
    }
  }
}

TEST(Chart, APeakOfOneStepInTenThousandIsSeen) {
  Series series;
  for (int i = 0; i < 10'000; ++i) series.add(i == 4321 ? 100 : 1);
  const std::string peaks = report::draw(series, {.rows = 4, .top = 100, .peaks = true});
  const std::string means = report::draw(series, {.rows = 4, .top = 100});
  EXPECT_THAT(lines_of(peaks)[0], HasSubstr("█"));
  EXPECT_THAT(lines_of(means)[0], ::testing::Not(HasSubstr("█")));
}

TEST(Chart, HandlesConstantZeroAndNegativeNumbers) {
  EXPECT_EQ(lines_of(report::draw(series_of({0, 0, 0}), {.rows = 2})).size(), 4U);
  const std::string text =
      report::draw(series_of({-2, 2}), {.columns = 20, .rows = 2, .plain = true});
  EXPECT_THAT(text, HasSubstr("-2+"));
  EXPECT_THAT(text, HasSubstr(" 2|"));
}

TEST(Chart, ARunEndsWithItsLossAndItsMemoryAgainstTheBudget) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(std::tmpfile(), &std::fclose);
  const Device device = test::own_cpu({.limit = MiB(16)});
  train::Trainer trainer(nn::mlp({.in = 16, .hidden = {16}, .classes = 4}), optim::adam());
  const auto plan = trainer.plan({.batch = 32}, device);
  trainer.fit(plan, test::toy_data(32 * 8).batch(32),
              {.epochs = 2, .callbacks = {report::chart(out.get())}});
  std::rewind(out.get());
  std::string text;
  for (int c = std::fgetc(out.get()); c != EOF; c = std::fgetc(out.get())) {
    text += static_cast<char>(c);
  }
  EXPECT_THAT(text, HasSubstr("after the first step"));
  EXPECT_THAT(text, HasSubstr("of a budget of 16 MiB"));
  EXPECT_THAT(text, HasSubstr("16 MiB|"));
  EXPECT_THAT(text, HasSubstr("step 1"));
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << "not plain";
}

}  // namespace
}  // namespace plimsoll

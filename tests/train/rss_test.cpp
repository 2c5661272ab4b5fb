#include "rss_child.h"

namespace plimsoll::test {
namespace {

TEST(TrainingRss, StaysWithinTheSmallestBudget) {
  for (const char* precision : {"f32", "bf16", "f16"}) {
    expect_within_rss({{"model", "lenet"}, {"precision", precision}, {"batch", 32}});
  }
}

/// What a library packs for wide products is memory of its own.
TEST(TrainingRss, ProductsWithManyColumnsStayWithinTheSmallestBudget) {
  expect_within_rss({{"model", "mlp"}, {"batch", 512}, {"classes", 40000}, {"validation", false}});
}

TEST(TrainingRss, MovingALimitTakesNothingThatStays) {
  const Json c = {{"model", "gpt2_tiny"}, {"size", 32}, {"batch", 8}, {"validation", false}};
  const Bytes low = rss_smallest(c) + KiB(512);
  Json moving = c;
  moving["low"] = low;
  moving["budget"] = low + low / 2;
  moving["moves"] = 20;
  expect_within_rss(moving);
}

}  // namespace
}  // namespace plimsoll::test

#include <array>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>

#include "rss_child.h"

namespace plimsoll::test {
namespace {

struct Sized {
  const char* model;
  int size;
  int batch;
  int classes = 4;  ///< 0: the model's own
};
constexpr std::array kModels = {Sized{"mlp", 28, 64},         Sized{"lenet", 28, 64},
                                Sized{"resnet18", 64, 8},     Sized{"resnet50", 64, 4},
                                Sized{"vit_tiny", 64, 4},     Sized{"vit_b16", 64, 2},
                                Sized{"gpt2_tiny", 64, 8, 0}, Sized{"gpt2", 64, 1, 0},
                                Sized{"unet", 64, 2},         Sized{"efficientnet_b0", 64, 4},
                                Sized{"lstm_lm", 32, 4, 0},   Sized{"bert", 32, 2, 0},
                                Sized{"llama", 32, 2, 0},     Sized{"mixer", 64, 2},
                                Sized{"convnext_t", 64, 2},   Sized{"dlrm", 0, 32, 0}};

TEST(EveryModelRssTest, HasEveryModel) {
  std::vector<std::string_view> tested;
  for (const Sized& each : kModels) tested.emplace_back(each.model);
  for (const nn::ModelInfo& each : nn::list_models()) {
    EXPECT_THAT(tested, ::testing::Contains(each.name));
  }
}

class EveryModelRss : public ::testing::TestWithParam<std::tuple<Sized, const char*>> {};

TEST_P(EveryModelRss, StaysWithinItsSmallestBudget) {
  const auto& [model, precision] = GetParam();
  expect_within_rss({{"model", model.model},
                     {"size", model.size},
                     {"batch", model.batch},
                     {"classes", model.classes},
                     {"precision", precision}});
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModelRss,
                         ::testing::Combine(::testing::ValuesIn(kModels),
                                            ::testing::Values("f32", "bf16", "f16")),
                         [](const auto& tested) {
                           return fmt::format("{}_{}", std::get<0>(tested.param).model,
                                              std::get<1>(tested.param));
                         });

/// What a library packs for products of many sizes is freed and taken again: the heap must not grow
/// with each.
TEST(TrainingRss, LargerStepsStayWithinTheSmallestBudget) {
  for (const Sized& each :
       {Sized{"gpt2", 256, 2, 0}, Sized{"lstm_lm", 50, 20, 0}, Sized{"llama", 100, 3, 0}}) {
    expect_within_rss({{"model", each.model},
                       {"size", each.size},
                       {"batch", each.batch},
                       {"classes", each.classes}});
  }
}

TEST(TrainingRss, OptionsInPairsStayWithinTheSmallestBudget) {
  const std::array<std::pair<const char*, Json>, 7> options = {{{"precision", "bf16"},
                                                                {"precision", "f16"},
                                                                {"accumulate", 4},
                                                                {"clip_norm", 1.0},
                                                                {"average", 0.99},
                                                                {"optimizer", "adam"},
                                                                {"threads", 16}}};
  for (std::size_t a = 0; a < options.size(); ++a) {
    for (std::size_t b = a; b < options.size(); ++b) {
      Json c = {{"model", "lenet"}, {"batch", 32}};
      c[options[a].first] = options[a].second;
      c[options[b].first] = options[b].second;
      expect_within_rss(c);
    }
  }
}

TEST(TrainingRss, TwoHundredMovesOfALimitTakeNothingThatStays) {
  for (const Sized& each : {Sized{"gpt2_tiny", 64, 8}, Sized{"vit_tiny", 32, 8}}) {
    Json c = {
        {"model", each.model}, {"size", each.size}, {"batch", each.batch}, {"validation", false}};
    const Bytes low = rss_smallest(c) + MiB(1);
    c["low"] = low;
    c["budget"] = low + low / 2;
    c["moves"] = 200;
    expect_within_rss(c);
  }
}

}  // namespace
}  // namespace plimsoll::test

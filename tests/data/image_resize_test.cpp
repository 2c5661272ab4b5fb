#include <gtest/gtest.h>

#include <map>

#include <plimsoll/base/error.h>

#include "data/image_support.h"

namespace plimsoll::image::testing {
namespace {

TEST(ImageResize, EqualsTensorFlow) {
  const std::map<std::string, Filter> filters{{"nearest", Filter::nearest},
                                              {"bilinear", Filter::bilinear},
                                              {"bicubic", Filter::bicubic},
                                              {"area", Filter::area}};
  const Recorded recorded;
  const auto cases = recorded.cases("resize");
  ASSERT_EQ(cases.size(), 24U);
  for (const auto& entry : cases) {
    SCOPED_TRACE(entry.dump());
    const auto input = recorded.values<std::uint8_t>(entry.at("input"));
    const Extent in = Recorded::extent(entry.at("input"));
    const Extent out = Recorded::extent(entry.at("expected"));
    const ResizeOptions options{filters.at(entry.at("filter")), entry.at("antialias").get<bool>()};
    std::vector<float> result(static_cast<std::size_t>(out.height * out.width * out.channels));
    const auto target = packed(result.data(), out.height, out.width, out.channels);
    CountingScratch scratch;
    resize(target, View<const std::uint8_t>(packed(input.data(), in.height, in.width, in.channels)),
           options, scratch);
    EXPECT_LE(scratch.peak(), resize_scratch(out, in, options));
    const auto expected = recorded.values<float>(entry.at("expected"));
    EXPECT_LT(largest_difference(result, expected), 1e-4);

    const std::vector<float> floats(input.begin(), input.end());
    std::vector<float> again(result.size());
    resize(packed(again.data(), out.height, out.width, out.channels),
           View<const float>(packed(floats.data(), in.height, in.width, in.channels)), options,
           scratch);
    EXPECT_EQ(again, result);
  }
}

TEST(ImageResize, KeepsAConstantPictureConstant) {
  const std::vector<float> input(17 * 13, 0.75F);
  for (const Filter filter : {Filter::nearest, Filter::bilinear, Filter::bicubic, Filter::area}) {
    for (const bool antialias : {false, true}) {
      for (const auto& [h, w] : {std::pair{1, 1}, {5, 40}, {40, 5}, {17, 13}}) {
        std::vector<float> out(static_cast<std::size_t>(h * w));
        CountingScratch scratch;
        resize(packed(out.data(), h, w, 1), View<const float>(packed(input.data(), 17, 13, 1)),
               {filter, antialias}, scratch);
        for (const float v : out) ASSERT_NEAR(v, 0.75F, 2e-6);
      }
    }
  }
}

TEST(ImageResize, RefusesEmptyAndUnlikePictures) {
  std::vector<float> data(64);
  CountingScratch scratch;
  const auto picture = View<const float>(packed(data.data(), 4, 4, 3));
  EXPECT_THROW(resize(packed(data.data(), 2, 2, 1), picture, {}, scratch), InvalidArgument);
  EXPECT_THROW(resize(packed(data.data(), 0, 2, 3), picture, {}, scratch), InvalidArgument);
}

}  // namespace
}  // namespace plimsoll::image::testing

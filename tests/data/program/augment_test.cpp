// Augmentation with given parameters, as torchvision v2 defines it, and what is drawn.

#include <gmock/gmock.h>

#include <plimsoll/data/augment.h>

#include "data/program/program_support.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::FloatNear;
using ::testing::HasSubstr;

using Change = std::function<Symbolic(Symbolic)>;

template <typename T>
std::vector<T> changed_pixels(std::vector<T> pixels, const Shape& shape, const Change& change,
                              std::uint64_t id = 0) {
  const Device device = host();
  const Program program = trace_program(elements_of({TensorSpec::of(dtype_of<T>, shape)}), change);
  Element element = {Value(row_of<T>(std::move(pixels), shape, device))};
  element.id = id;
  return program.run(element, device, 11)[0].tensor().template to_vector<T>();
}

using Bytes8 = std::vector<std::uint8_t>;

TEST(Augment, BrightnessScalesAndKeepsTheRange) {
  const Change brighter = [](Symbolic x) { return image::adjust_brightness(x, 1.5); };
  EXPECT_THAT(changed_pixels<std::uint8_t>({100, 201, 3}, {1, 1, 3}, brighter),
              ElementsAre(150, 255, 4));
  EXPECT_THAT(changed_pixels<float>({0.5F, 0.9F, 0}, {1, 1, 3},
                                    [](Symbolic x) { return image::adjust_brightness(x, 1.5, 1); }),
              ElementsAre(0.75F, 1, 0));
}

TEST(Augment, ContrastMovesAwayFromTheMeanOfTheGrayPicture) {
  // Gray values 0.9999 * 100 = 99.99 and 0.9999 * 200 = 199.98, cut off; their mean is 149.
  const Bytes8 pixels = {100, 100, 100, 200, 200, 200};
  EXPECT_THAT(
      changed_pixels(pixels, {1, 2, 3}, [](Symbolic x) { return image::adjust_contrast(x, 0); }),
      Each(149));
  EXPECT_THAT(
      changed_pixels(pixels, {1, 2, 3}, [](Symbolic x) { return image::adjust_contrast(x, 2); }),
      ElementsAre(51, 51, 51, 251, 251, 251));
  EXPECT_THAT(changed_pixels<float>({10, 30}, {1, 2, 1},
                                    [](Symbolic x) { return image::adjust_contrast(x, 0.5); }),
              ElementsAre(15, 25));
}

TEST(Augment, SaturationMovesAwayFromGray) {
  const Bytes8 red = {200, 0, 0};  // gray 59.78, cut off
  EXPECT_THAT(
      changed_pixels(red, {1, 1, 3}, [](Symbolic x) { return image::adjust_saturation(x, 0); }),
      Each(59));
  EXPECT_THAT(
      changed_pixels(red, {1, 1, 3}, [](Symbolic x) { return image::adjust_saturation(x, 0.5); }),
      ElementsAre(129, 29, 29));
  EXPECT_THAT(changed_pixels(red, {1, 1, 3}, [](Symbolic x) { return image::grayscale(x); }),
              Each(59));
}

TEST(Augment, HueTurns) {
  const Bytes8 colours = {255, 0, 0, 0, 255, 0, 10, 10, 10};
  EXPECT_THAT(
      changed_pixels(colours, {1, 3, 3}, [](Symbolic x) { return image::adjust_hue(x, 1.0 / 3); }),
      ElementsAre(0, 255, 0, 0, 0, 255, 10, 10, 10));
  // No turn: what was there, but for one that the two roundings may cost.
  Bytes8 all;
  for (int i = 0; i < 300; ++i) all.push_back(static_cast<std::uint8_t>(i * 37));
  const Bytes8 same =
      changed_pixels(all, {10, 10, 3}, [](Symbolic x) { return image::adjust_hue(x, 0); });
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_NEAR(same[i], all[i], 1) << i;
}

TEST(Augment, BitsAreInvertedAndDropped) {
  const Bytes8 pixels = {0, 100, 128, 255};
  const Shape shape = {1, 4, 1};
  EXPECT_THAT(changed_pixels(pixels, shape, [](Symbolic x) { return image::invert(x); }),
              ElementsAre(255, 155, 127, 0));
  EXPECT_THAT(changed_pixels(pixels, shape, [](Symbolic x) { return image::solarize(x, 128); }),
              ElementsAre(0, 100, 127, 0));
  EXPECT_THAT(changed_pixels(pixels, shape, [](Symbolic x) { return image::posterize(x, 2); }),
              ElementsAre(0, 64, 128, 192));
  EXPECT_THAT(changed_pixels(pixels, shape, [](Symbolic x) { return image::posterize(x, 0); }),
              Each(0));
}

TEST(Augment, TurningMovesPixels) {
  const Bytes8 pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Shape shape = {3, 3, 1};
  EXPECT_THAT(changed_pixels(pixels, shape, [](Symbolic x) { return image::rotate(x, 90); }),
              ElementsAre(3, 6, 9, 2, 5, 8, 1, 4, 7));
  EXPECT_THAT(changed_pixels(pixels, shape, [](Symbolic x) { return image::rotate(x, 180, true); }),
              ElementsAre(9, 8, 7, 6, 5, 4, 3, 2, 1));
  EXPECT_THAT(changed_pixels(pixels, shape, [](Symbolic x) { return image::affine(x, {}); }),
              ElementsAreArray(pixels));
  EXPECT_THAT(
      changed_pixels(pixels, shape,
                     [](Symbolic x) { return image::affine(x, {.translate_x = 1, .fill = 50}); }),
      ElementsAre(50, 1, 2, 50, 4, 5, 50, 7, 8));
  EXPECT_THAT(changed_pixels(pixels, shape,
                             [](Symbolic x) {
                               return image::affine(
                                   x, {.translate_y = 0.5, .bilinear = true, .fill = 9});
                             }),
              ElementsAre(5, 5, 5, 2, 4, 4, 6, 6, 8));
}

TEST(Augment, BlurSpreadsAndKeepsWhatIsConstant) {
  std::vector<float> constant(75, 7.0F);
  EXPECT_THAT(changed_pixels(constant, {5, 5, 3},
                             [](Symbolic x) { return image::gaussian_blur(x, 5, 1.2); }),
              Each(FloatNear(7, 1e-5F)));
  std::vector<float> impulse(25, 0.0F);
  impulse[12] = 1;
  const std::vector<float> spread =
      changed_pixels(impulse, {5, 5, 1}, [](Symbolic x) { return image::gaussian_blur(x, 3, 1); });
  const float side = std::exp(-0.5F) / (1 + 2 * std::exp(-0.5F));
  EXPECT_NEAR(spread[12], (1 - 2 * side) * (1 - 2 * side), 1e-6);
  EXPECT_NEAR(spread[11], (1 - 2 * side) * side, 1e-6);
  EXPECT_NEAR(spread[6], side * side, 1e-6);
  EXPECT_EQ(spread[10], 0);
}

TEST(Augment, ErasingFillsAWindow) {
  EXPECT_THAT(
      changed_pixels<std::uint8_t>({1, 2, 3, 4, 5, 6}, {2, 3, 1},
                                   [](Symbolic x) { return image::erase(x, 0, 1, 9, 1, 77); }),
      ElementsAre(1, 77, 3, 4, 77, 6));
}

TEST(Augment, DrawsAreWithinTheirRangesAndTheElements) {
  const std::vector<float> white(3, 100.0F);
  std::vector<float> factors;
  for (std::uint64_t id = 0; id < 400; ++id) {
    const Change change = [](Symbolic x) { return image::random_brightness(x, 0.4); };
    factors.push_back(changed_pixels(white, {1, 1, 3}, change, id)[0]);
    ASSERT_EQ(factors.back(), changed_pixels(white, {1, 1, 3}, change, id)[0]);
  }
  const auto [low, high] = std::ranges::minmax(factors);
  EXPECT_GE(low, 60);
  EXPECT_LT(low, 61);
  EXPECT_LE(high, 140);
  EXPECT_GT(high, 139);
  double mean = 0;
  for (const float factor : factors) mean += factor / 400;
  EXPECT_NEAR(mean, 100, 4);

  int gray = 0;
  for (std::uint64_t id = 0; id < 400; ++id) {
    const auto pixel = changed_pixels<std::uint8_t>(
        {200, 0, 0}, {1, 1, 3}, [](Symbolic x) { return image::random_grayscale(x, 0.25); }, id);
    gray += pixel[1] != 0 ? 1 : 0;
  }
  EXPECT_NEAR(gray, 100, 30);

  for (std::uint64_t id = 0; id < 50; ++id) {
    const std::vector<float> ones(400, 1.0F);
    const auto erased = changed_pixels(
        ones, {20, 20, 1}, [](Symbolic x) { return image::random_erase(x, 1); }, id);
    const auto share = static_cast<double>(std::ranges::count(erased, 0.0F)) / 400;
    EXPECT_GT(share, 0.005);
    EXPECT_LT(share, 0.4);
  }
}

TEST(Augment, RefusesWhatMakesNoSense) {
  const auto refusal = [](const Shape& shape, const Change& change) {
    return message_of<InvalidArgument>(
        [&] { trace_program(elements_of({TensorSpec::of(DType::u8, shape)}), change); });
  };
  EXPECT_THAT(refusal({4, 4, 1}, [](Symbolic x) { return image::grayscale(x); }),
              HasSubstr("takes images of 3 channels"));
  EXPECT_THAT(refusal({4, 4, 3}, [](Symbolic x) { return image::adjust_hue(x, 0.6); }),
              HasSubstr("give -0.5 to 0.5"));
  EXPECT_THAT(refusal({4, 4, 3}, [](Symbolic x) { return image::gaussian_blur(x, 4, 1); }),
              HasSubstr("size is 4; give an odd number"));
  EXPECT_THAT(refusal({4, 4, 3}, [](Symbolic x) { return image::affine(x, {.scale = 0}); }),
              HasSubstr("scale is 0; give more than 0"));
  EXPECT_THAT(refusal({4, 4, 3}, [](Symbolic x) { return image::erase(x, 0, 0, 1, 1, 300); }),
              HasSubstr("value is 300"));
}

}  // namespace
}  // namespace plimsoll::data::testing

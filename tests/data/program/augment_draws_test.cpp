// What augmentation draws: distributions by chi-square tests, and the ops on batches.

#include <gmock/gmock.h>

#include <cmath>

#include <plimsoll/data/augment.h>

#include "data/program/program_support.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kBins = 8;
/// Of chi-square with 7 degrees of freedom: one of 10,000 is above it. Draws are a function of the
/// seed, so that a test passes or fails always.
constexpr double kLimit = 27.9;

/// Of shares of 0 to 1 that should be uniform.
double chi_square(const std::vector<double>& shares) {
  std::array<double, kBins> counts{};
  for (const double share : shares) {
    counts[static_cast<std::size_t>(std::clamp(share * kBins, 0.0, kBins - 1.0))] += 1;
  }
  const double expected = static_cast<double>(shares.size()) / kBins;
  double total = 0;
  for (const double count : counts) total += (count - expected) * (count - expected) / expected;
  return total;
}

/// Runs a program on one picture as element 0, 1, ...
class Draws {
 public:
  Draws(std::vector<float> pixels, const Shape& shape,
        const std::function<Symbolic(Symbolic)>& change)
      : program_(trace_program(elements_of({TensorSpec::of(DType::f32, shape)}), change)),
        picture_(row_of<float>(std::move(pixels), shape, device_)) {}

  std::vector<float> operator()(std::uint64_t id) const {
    Element element = {Value(picture_)};
    element.id = id;
    return program_.run(element, device_, 3)[0].tensor().to_vector<float>();
  }

 private:
  Device device_ = host();
  Program program_;
  Tensor picture_;
};

TEST(AugmentDraws, ResizedCropsHaveUniformAreasShapesAndPlaces) {
  constexpr int kSize = 200;
  std::vector<float> places;  // (y, x) at every pixel
  for (int y = 0; y < kSize; ++y) {
    for (int x = 0; x < kSize; ++x) places.insert(places.end(), {float(y), float(x)});
  }
  image::ResizedCropOptions options;
  options.scale_high = 0.5;  // always fits
  options.resize.antialias = false;
  const Draws draw(places, {kSize, kSize, 2},
                   [&](Symbolic x) { return image::random_resized_crop(x, 2, 2, options); });
  std::vector<double> areas;
  std::vector<double> shapes;
  std::vector<double> ys;
  std::vector<double> xs;
  for (std::uint64_t id = 0; id < 1500; ++id) {
    const std::vector<float> four = draw(id);
    // Sampled at a quarter and three quarters of the part.
    const double height = 2 * (four[4] - four[0]);
    const double width = 2 * (four[3] - four[1]);
    const double y = four[0] - height / 4 + 0.5;
    const double x = four[1] - width / 4 + 0.5;
    areas.push_back((height * width / (kSize * kSize) - 0.08) / 0.42);
    shapes.push_back((std::log(width / height) - std::log(0.75)) / (2 * std::log(4.0 / 3)));
    ys.push_back((y + 0.5) / (kSize - height + 1));
    xs.push_back((x + 0.5) / (kSize - width + 1));
  }
  EXPECT_LT(chi_square(areas), kLimit);
  EXPECT_LT(chi_square(shapes), kLimit);
  EXPECT_LT(chi_square(ys), kLimit);
  EXPECT_LT(chi_square(xs), kLimit);
}

TEST(AugmentDraws, AResizedCropThatNeverFitsIsTheMiddle) {
  std::vector<float> row;
  for (int x = 0; x < 100; ++x) row.push_back(static_cast<float>(x));
  const Draws draw(row, {1, 100, 1}, [](Symbolic x) {
    return image::random_resized_crop(x, 1, 1, {.scale_low = 0.9});
  });
  EXPECT_NEAR(draw(1)[0], 49, 0.6);  // one pixel
}

TEST(AugmentDraws, JitterDrawsUniformFactors) {
  std::vector<double> shares;
  const Draws draw({100, 100, 100}, {1, 1, 3},
                   [](Symbolic x) { return image::color_jitter(x, {.brightness = 0.4}); });
  for (std::uint64_t id = 0; id < 2000; ++id) shares.push_back((draw(id)[0] - 60) / 80);
  EXPECT_LT(chi_square(shares), kLimit);
}

TEST(AugmentDraws, JitterDrawsItsOrder) {
  // Brightness that is cut off before or after contrast makes a difference.
  int cut_first = 0;
  const Draws draw({250, 250, 250, 10, 10, 10}, {1, 2, 3}, [](Symbolic x) {
    return image::color_jitter(x, {.brightness = 0.9, .contrast = 0.9});
  });
  for (std::uint64_t id = 0; id < 300; ++id) {
    const std::vector<float> pixels = draw(id);
    // Contrast last leaves values between the limits where brightness last has cut them off.
    cut_first += pixels[0] == 255.0F ? 1 : 0;
  }
  EXPECT_GT(cut_first, 60);
  EXPECT_LT(cut_first, 240);
}

TEST(AugmentDraws, AffineDrawsWithinItsRanges) {
  std::vector<float> places;
  for (int x = 0; x < 101; ++x) places.push_back(static_cast<float>(x));
  const Draws draw(places, {1, 101, 1}, [](Symbolic x) {
    return image::random_affine(x, {.translate_x = 0.2, .fill = -1});
  });
  std::vector<double> shares;
  for (std::uint64_t id = 0; id < 1000; ++id) {
    const double moved = 50 - draw(id)[50];
    ASSERT_LE(std::abs(moved), 20);
    shares.push_back((moved + 20.5) / 41);
  }
  EXPECT_LT(chi_square(shares), 40);  // whole pixels: 41 values in 8 bins
}

TEST(AugmentDraws, RandAugmentDrawsItsChangesEquallyOften) {
  // One change of level 0 of 2 is none but for some: Solarize keeps all but the largest value,
  // AutoContrast stretches, Posterize keeps eight bits. One that is told apart is enough.
  std::vector<float> pixels;
  for (int i = 0; i < 64; ++i) pixels.push_back(static_cast<float>(100 + i));
  const Draws draw(pixels, {8, 8, 1}, [](Symbolic x) {
    return image::rand_augment(x, {.count = 1, .level = 0, .bins = 2});
  });
  int stretched = 0;
  constexpr int kDraws = 2800;
  for (int id = 0; id < kDraws; ++id) {
    const std::vector<float> result = draw(static_cast<std::uint64_t>(id));
    stretched += result[0] == 0.0F && result[63] > 254.9F ? 1 : 0;
  }
  EXPECT_NEAR(stretched, kDraws / 14, 60);  // four deviations
}

/// A batch of three pictures of 10, 20 and 30, labelled 0, 1 and 2, mixed as element 0, 1, ...
class Mixed {
 public:
  explicit Mixed(const std::function<image::MixedBatch(Symbolic, Symbolic)>& mix)
      : program_(trace_program(
            elements_of({TensorSpec::of(DType::f32, kShape), TensorSpec::of(DType::i64, Shape{3})}),
            [&](Symbolic x, Symbolic y) {
              const image::MixedBatch batch = mix(x, y);
              return Symbolics{batch.pictures, batch.labels};
            })) {
    std::vector<float> pixels;
    for (const float value : {10.0F, 20.0F, 30.0F}) pixels.insert(pixels.end(), 16, value);
    batch_ = {Value(row_of<float>(pixels, kShape, device_)),
              Value(row_of<std::int64_t>({0, 1, 2}, {3}, device_))};
  }

  /// Pictures and labels.
  std::array<std::vector<float>, 2> operator()(std::uint64_t id = 0) {
    batch_.id = id;
    const Element result = program_.run(batch_, device_, 5);
    return {result[0].tensor().to_vector<float>(), result[1].tensor().to_vector<float>()};
  }

 private:
  inline static const Shape kShape{3, 4, 4, 1};
  Device device_ = host();
  Program program_;
  Element batch_;
};

TEST(AugmentBatches, MixUpAddsThePictureBefore) {
  const auto result = Mixed([](Symbolic x, Symbolic y) { return image::mixup(x, y, 3, 0.75); })();
  EXPECT_FLOAT_EQ(result[0][0], 10 * 0.75F + 30 * 0.25F);  // the first with the last
  EXPECT_FLOAT_EQ(result[0][16], 20 * 0.75F + 10 * 0.25F);
  EXPECT_THAT(result[1], ElementsAre(0.75F, 0, 0.25F, 0.25F, 0.75F, 0, 0, 0.25F, 0.75F));
}

TEST(AugmentBatches, CutMixTakesAWindowOfThePictureBefore) {
  const auto result =
      Mixed([](Symbolic x, Symbolic y) { return image::cutmix(x, y, 3, 1, 2, 2, 9); })();
  const std::vector<float> first(result[0].begin(), result[0].begin() + 16);
  EXPECT_THAT(first, ElementsAre(10, 10, 10, 10, 10, 10, 30, 30, 10, 10, 30, 30, 10, 10, 10, 10));
  EXPECT_THAT(result[1], ElementsAre(0.75F, 0, 0.25F, 0.25F, 0.75F, 0, 0, 0.25F, 0.75F));
}

TEST(AugmentBatches, TheShareOfMixUpIsBetaDistributed) {
  for (const double alpha : {0.3, 1.0, 4.0}) {
    double mean = 0;
    double square = 0;
    std::vector<double> shares;
    constexpr int kDraws = 600;
    Mixed draw([&](Symbolic x, Symbolic y) { return image::random_mixup(x, y, 3, alpha); });
    for (int id = 0; id < kDraws; ++id) {
      const auto result = draw(static_cast<std::uint64_t>(id));
      const double share = result[1][0];
      ASSERT_NEAR(result[1][0] + result[1][2], 1, 1e-5);
      shares.push_back(share);
      mean += share / kDraws;
      square += share * share / kDraws;
    }
    EXPECT_NEAR(mean, 0.5, 0.06) << alpha;
    EXPECT_NEAR(square - mean * mean, 1 / (4 * (2 * alpha + 1)), 0.03) << alpha;
    if (alpha == 1) {
      EXPECT_LT(chi_square(shares), kLimit);
    }
  }
}

TEST(AugmentBatches, CutMixLabelsSayHowMuchWasCut) {
  Mixed draw([](Symbolic x, Symbolic y) { return image::random_cutmix(x, y, 3); });
  for (std::uint64_t id = 0; id < 100; ++id) {
    const auto result = draw(id);
    const auto cut = std::count(result[0].begin(), result[0].begin() + 16, 30.0F);
    EXPECT_NEAR(result[1][2], static_cast<double>(cut) / 16, 1e-6);
  }
}

TEST(AugmentBatches, RefusesWhatMakesNoSense) {
  EXPECT_THAT(message_of<InvalidArgument>([] {
                Mixed([](Symbolic x, Symbolic y) { return image::random_mixup(x, y, 3, 0); });
              }),
              HasSubstr("alpha is 0; give more than 0"));
  EXPECT_THAT(message_of<DataError>([] {
                Mixed([](Symbolic x, Symbolic y) { return image::mixup(x, y, 2, 0.5); })();
              }),
              HasSubstr("label 2 is not one of 2 classes"));
  const auto refusal = [](const std::function<Symbolic(Symbolic)>& change) {
    return message_of<InvalidArgument>([&] {
      trace_program(elements_of({TensorSpec::of(DType::u8, Shape{4, 4, 3})}), change);
    });
  };
  EXPECT_THAT(refusal([](Symbolic x) {
                return image::random_resized_crop(x, 2, 2, {.scale_low = 0.5, .scale_high = 0.4});
              }),
              HasSubstr("scale is 0.5 to 0.4"));
  EXPECT_THAT(refusal([](Symbolic x) { return image::rand_augment(x, {.level = 31}); }),
              HasSubstr("level is 31; give 0 to 30"));
  EXPECT_THAT(refusal([](Symbolic x) { return image::augment(x, "Twirl", 1); }),
              HasSubstr("there is no change \"Twirl\"; use one of Identity, ShearX"));
  EXPECT_THAT(refusal([](Symbolic x) { return image::color_jitter(x, {.hue = 0.6}); }),
              HasSubstr("hue is 0.6; give 0 to 0.5"));
}

}  // namespace
}  // namespace plimsoll::data::testing

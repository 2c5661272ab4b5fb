#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/data/image/transform.h>

#include "data/image_support.h"

namespace plimsoll::image::testing {
namespace {

void apply(const std::string& op, float value, View<float> out, View<const float> in) {
  if (op == "brightness") return adjust_brightness(out, in, value);
  if (op == "contrast") return adjust_contrast(out, in, value);
  if (op == "flip_left_right") return flip_left_right(out, in);
  if (op == "flip_up_down") return flip_up_down(out, in);
  if (op == "rot90") return rotate90(out, in, static_cast<int>(value));
  if (op == "rotate_constant") return rotate(out, in, value, Outside::constant, 0.5F);
  if (op == "rotate_nearest") return rotate(out, in, value, Outside::nearest);
  FAIL() << op;
}

TEST(ImageTransform, EqualsTensorFlow) {
  const Recorded recorded;
  const auto cases = recorded.cases("transform");
  ASSERT_EQ(cases.size(), 13U);
  for (const auto& entry : cases) {
    SCOPED_TRACE(entry.dump());
    const auto input = recorded.values<float>(entry.at("input"));
    const Extent in = Recorded::extent(entry.at("input"));
    const Extent e = Recorded::extent(entry.at("expected"));
    const auto picture = View<const float>(packed(input.data(), in.height, in.width, in.channels));
    if (entry.at("op") == "to_uint8") {
      std::vector<float> moved(input.size());
      for (std::size_t i = 0; i < input.size(); ++i) moved[i] = input[i] * 1.2F - 0.1F;
      std::vector<std::uint8_t> bytes(input.size());
      to_bytes(packed(bytes.data(), e.height, e.width, e.channels),
               View<const float>(packed(moved.data(), e.height, e.width, e.channels)));
      EXPECT_EQ(bytes, recorded.values<std::uint8_t>(entry.at("expected")));
      continue;
    }
    std::vector<float> out(static_cast<std::size_t>(e.height * e.width * e.channels));
    apply(entry.at("op"), entry.at("value").get<float>(),
          packed(out.data(), e.height, e.width, e.channels), picture);
    EXPECT_LT(largest_difference(out, recorded.values<float>(entry.at("expected"))), 2e-6);
  }
}

TEST(ImageTransform, PlanesAndBytesGoThereAndBack) {
  std::vector<std::uint8_t> bytes(5 * 4 * 3);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 4);
  std::vector<float> floats(bytes.size()), planes(bytes.size()), back(bytes.size());
  to_float(packed(floats.data(), 5, 4, 3), View<const std::uint8_t>(packed(bytes.data(), 5, 4, 3)));
  to_planes(planes.data(), packed(floats.data(), 5, 4, 3));
  EXPECT_EQ(planes[20 + 1], floats[3 + 1]);
  from_planes(packed(back.data(), 5, 4, 3), planes.data());
  EXPECT_EQ(back, floats);
  std::vector<std::uint8_t> again(bytes.size());
  to_bytes(packed(again.data(), 5, 4, 3), View<const float>(packed(back.data(), 5, 4, 3)));
  EXPECT_EQ(again, bytes);
}

TEST(ImageTransform, NormalisesEachChannel) {
  std::vector<float> data{1, 2, 3, 5};
  const float mean[] = {1, 2};
  const float deviation[] = {2, 3};
  normalise(packed(data.data(), 1, 2, 2), View<const float>(packed(data.data(), 1, 2, 2)), mean,
            deviation);
  EXPECT_EQ(data, (std::vector<float>{0, 0, 1, 1}));
}

TEST(ImageTransform, CropsWithoutACopyAndRefusesWhatIsOutside) {
  const std::vector<float> data(6 * 5);
  const auto picture = View<const float>(packed(data.data(), 6, 5, 1));
  const auto part = crop(picture, {1, 2, 3, 4});
  EXPECT_EQ(part.data, data.data() + 2 * 5 + 1);
  EXPECT_EQ(part.stride, 5);
  EXPECT_EQ(part.height, 4);
  EXPECT_THROW(crop(picture, {3, 0, 3, 1}), InvalidArgument);
  EXPECT_THROW(crop(picture, {0, -1, 3, 1}), InvalidArgument);
}

}  // namespace
}  // namespace plimsoll::image::testing

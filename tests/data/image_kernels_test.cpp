#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "data/image/kernels.h"

namespace plimsoll::image {
namespace {

std::vector<std::uint8_t> noise(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> result(n);
  for (auto& v : result) v = static_cast<std::uint8_t>(random());
  return result;
}

template <class T>
void expect_same(const std::vector<T>& a, const std::vector<T>& b, std::size_t n) {
  EXPECT_EQ(std::memcmp(a.data(), b.data(), n * sizeof(T)), 0);
}

class ImageKernels : public ::testing::TestWithParam<const RowKernels*> {
 protected:
  const RowKernels& best = *GetParam();
};
INSTANTIATE_TEST_SUITE_P(Of, ImageKernels, ::testing::ValuesIn(row_kernel_variants()),
                         [](const auto& each) { return std::string(each.param->name); });

TEST_P(ImageKernels, ConvertEveryColourAsTheGenericKernelDoes) {
  const RowKernels& plain = generic_row_kernels();
  std::vector<std::uint8_t> y(256 + kRowSlack), cb(y.size()), cr(y.size());
  for (int b = 0; b < 256; ++b) {
    for (int r = 0; r < 256; ++r) {
      for (std::size_t i = 0; i < 256; ++i) y[i] = static_cast<std::uint8_t>(i);
      std::fill(cb.begin(), cb.end(), static_cast<std::uint8_t>(b));
      std::fill(cr.begin(), cr.end(), static_cast<std::uint8_t>(r));
      std::vector<std::uint8_t> fast(4 * y.size()), slow(4 * y.size());
      best.ycc_to_rgbx(fast.data(), y.data(), cb.data(), cr.data(), 256);
      plain.ycc_to_rgbx(slow.data(), y.data(), cb.data(), cr.data(), 256);
      ASSERT_EQ(std::memcmp(fast.data(), slow.data(), 1024), 0) << b << " " << r;
    }
  }
}

TEST_P(ImageKernels, GiveTheSameBits) {
  const RowKernels& plain = generic_row_kernels();
  for (const int n : {1, 2, 3, 4, 7, 16, 17, 31, 32, 33, 49, 100, 224}) {
    SCOPED_TRACE(n);
    const auto count = static_cast<std::size_t>(n);
    const auto near = noise(1 + count + kRowSlack, 1);
    const auto far = noise(1 + count + kRowSlack, 2);
    std::vector<std::uint16_t> sums(count + kRowSlack), sums2(sums.size());
    best.blend_rows(sums.data(), near.data(), far.data(), n);
    plain.blend_rows(sums2.data(), near.data(), far.data(), n);
    expect_same(sums, sums2, count);

    std::vector<std::uint8_t> wide(2 * count + 2 * kRowSlack), wide2(wide.size());
    best.double_columns(wide.data(), near.data() + 1, far.data() + 1, n, 8, 7, 4);
    plain.double_columns(wide2.data(), near.data() + 1, far.data() + 1, n, 8, 7, 4);
    expect_same(wide, wide2, 2 * count);

    const auto row = noise(4 * 500 + kRowSlack, 3);
    std::mt19937 random(4);
    const std::size_t columns = (count + kColumnGroup - 1) / kColumnGroup * kColumnGroup;
    std::vector<std::int32_t> offsets(columns);
    std::vector<std::int16_t> weights(8 * columns);
    for (std::size_t x = 0; x < columns; ++x) {
      offsets[x] = static_cast<std::int32_t>(4 * (random() % 499));
      const auto right = static_cast<std::int16_t>(random() % (kWeightOne + 1));
      for (std::size_t c = 0; c < 4; ++c) {
        weights[8 * x + 2 * c] = static_cast<std::int16_t>(kWeightOne - right);
        weights[8 * x + 2 * c + 1] = right;
      }
    }
    const ColumnTaps taps{offsets.data(), weights.data(), nullptr};
    std::vector<float> a(4 * count + kRowSlack), a2(a.size()), b(a.size());
    best.resize_columns(a.data(), row.data(), taps, n);
    plain.resize_columns(a2.data(), row.data(), taps, n);
    expect_same(a, a2, 4 * count);
    best.resize_columns(b.data(), row.data() + 16, taps, n);

    std::vector<float> shares(columns);
    for (float& each : shares) each = static_cast<float>(random() % 1000) / 1000;
    shares[0] = 0;
    const ColumnTaps exact{offsets.data(), nullptr, shares.data()};
    std::vector<float> f(a.size()), f2(a.size());
    best.interpolate_columns(f.data(), row.data(), exact, n);
    plain.interpolate_columns(f2.data(), row.data(), exact, n);
    expect_same(f, f2, 4 * count);

    const float scale[4] = {0.1F, 0.2F, 0.3F, 0.4F};
    const float bias[4] = {1, 2, 3, 4};
    std::vector<float> c(a.size()), c2(a.size());
    best.blend_pixels(c.data(), a.data(), b.data(), 0.3F, scale, bias, n);
    plain.blend_pixels(c2.data(), a.data(), b.data(), 0.3F, scale, bias, n);
    expect_same(c, c2, 4 * count);

    // This one must not write past the end.
    std::vector<float> d(3 * count), d2(3 * count);
    best.blend_pixels_rgb(d.data(), a.data(), b.data(), 0.3F, scale, bias, n);
    plain.blend_pixels_rgb(d2.data(), a.data(), b.data(), 0.3F, scale, bias, n);
    expect_same(d, d2, 3 * count);

    std::vector<float> e(3 * count), e2(3 * count);
    best.split_rgb(e.data(), e.data() + count, e.data() + 2 * count, c.data(), n);
    plain.split_rgb(e2.data(), e2.data() + count, e2.data() + 2 * count, c.data(), n);
    expect_same(e, e2, 3 * count);
  }
}

TEST_P(ImageKernels, PickPixelsOfNeighbouringColumns) {
  const RowKernels& plain = generic_row_kernels();
  std::mt19937 random(6);
  for (int round = 0; round < 200; ++round) {
    const int n = 1 + static_cast<int>(random() % 40);
    const int groups = (n + kColumnGroup - 1) / kColumnGroup;
    const auto count = static_cast<std::size_t>(groups) * kColumnGroup;
    const auto row = noise(4 * 15 * count + kRowSlack, random());
    std::vector<std::int32_t> offsets(count), starts;
    std::vector<std::uint8_t> picks(static_cast<std::size_t>(groups) * kGroupPicks);
    std::vector<std::int16_t> weights(8 * count);
    for (std::size_t x = 0; x < count; ++x) {
      if (x % kColumnGroup == 0) starts.push_back(static_cast<std::int32_t>(60 * x));
      const std::size_t within = random() % 15;
      offsets[x] = starts.back() + static_cast<std::int32_t>(4 * within);
      const auto right = static_cast<std::int16_t>(random() % (kWeightOne + 1));
      for (std::size_t c = 0; c < 4; ++c) {
        weights[8 * x + 2 * c] = static_cast<std::int16_t>(kWeightOne - right);
        weights[8 * x + 2 * c + 1] = right;
        picks[16 * x + 4 * c] = static_cast<std::uint8_t>(4 * within + c);
        picks[16 * x + 4 * c + 2] = static_cast<std::uint8_t>(4 * within + 4 + c);
      }
    }
    const ColumnTaps taps{offsets.data(), weights.data(), nullptr, starts.data(), picks.data()};
    std::vector<float> a(4 * count + kRowSlack), b(a.size());
    best.resize_columns(a.data(), row.data(), taps, n);
    plain.resize_columns(b.data(), row.data(), taps, n);
    expect_same(a, b, 4 * static_cast<std::size_t>(n));
  }
}

}  // namespace
}  // namespace plimsoll::image

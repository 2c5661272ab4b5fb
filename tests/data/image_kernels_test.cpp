#include <gtest/gtest.h>

#include <cstring>
#include <random>
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

TEST(ImageKernels, ConvertEveryColourAsTheGenericKernelDoes) {
  const RowKernels& best = row_kernels();
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

TEST(ImageKernels, AllVariantsGiveTheSameBits) {
  const RowKernels& best = row_kernels();
  const RowKernels& plain = generic_row_kernels();
  for (const int n : {1, 2, 3, 7, 16, 31, 100, 224}) {
    SCOPED_TRACE(n);
    const auto count = static_cast<std::size_t>(n);
    const auto near = noise(count + kRowSlack, 1);
    const auto far = noise(count + kRowSlack, 2);
    std::vector<std::uint16_t> sums(count + 2 * kRowSlack), sums2(sums.size());
    best.blend_rows(sums.data() + 1, near.data(), far.data(), n);
    plain.blend_rows(sums2.data() + 1, near.data(), far.data(), n);
    sums[0] = sums2[0] = 77;
    sums[count + 1] = sums2[count + 1] = 88;
    expect_same(sums, sums2, count + 2);

    std::vector<std::uint8_t> wide(2 * count + 2 * kRowSlack), wide2(wide.size());
    best.double_columns(wide.data(), sums.data() + 1, n, 8, 7, 4);
    plain.double_columns(wide2.data(), sums2.data() + 1, n, 8, 7, 4);
    expect_same(wide, wide2, 2 * count);

    const auto row = noise(4 * 500 + kRowSlack, 3);
    std::mt19937 random(4);
    std::vector<std::int32_t> offsets(count + 1);
    std::vector<std::int16_t> weights(8 * (count + 1));
    for (std::size_t x = 0; x <= count; ++x) {
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

    std::vector<float> shares(count + 1);
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

}  // namespace
}  // namespace plimsoll::image

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/tensor/tensor.h>

#include "support/own_device.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class ViewTest : public ::testing::Test {
 protected:
  /// 0, 1, 2, ... in row-major order.
  Tensor counting(const Shape& shape) const {
    std::vector<std::int32_t> values(static_cast<std::size_t>(shape.elements()));
    std::iota(values.begin(), values.end(), 0);
    return Tensor::from_values<std::int32_t>(values, shape, cpu_);
  }
  static std::vector<std::int32_t> values(const Tensor& tensor) {
    return tensor.to_vector<std::int32_t>();
  }

  Device cpu_ = test::own_cpu({.limit = MiB(64)});
};

TEST_F(ViewTest, SlicesTakePartsOfADimension) {
  const Tensor tensor = counting({4, 3});
  EXPECT_THAT(values(tensor.slice(0, 1, 3)), ElementsAre(3, 4, 5, 6, 7, 8));
  EXPECT_THAT(values(tensor.slice(1, 1)), ElementsAre(1, 2, 4, 5, 7, 8, 10, 11));
  EXPECT_THAT(values(tensor.slice(0, 0, Tensor::kToEnd, 2)), ElementsAre(0, 1, 2, 6, 7, 8));
  EXPECT_THAT(values(tensor.slice(-1, -1)), ElementsAre(2, 5, 8, 11));
  EXPECT_THAT(values(tensor.slice(0, -3, -1)), ElementsAre(3, 4, 5, 6, 7, 8));
  EXPECT_THAT(values(tensor.slice(0, 1, 4, 100)), ElementsAre(3, 4, 5));
  EXPECT_EQ(tensor.slice(0, 2, 2).shape(), (Shape{0, 3}));
  EXPECT_EQ(tensor.slice(0, 4).shape(), (Shape{0, 3}));
  EXPECT_EQ(tensor.slice(0, 1, 3).storage(), tensor.storage());
}

TEST_F(ViewTest, SlicesOutsideAreRefused) {
  const Tensor tensor = counting({4, 3});
  EXPECT_THAT([&] { tensor.slice(0, 1, 5); },
              ThrowsMessage<InvalidArgument>(
                  AllOf(HasSubstr("from 1 to 5"), HasSubstr("dimension 0 of [4,3]"))));
  EXPECT_THROW(tensor.slice(0, 3, 1), InvalidArgument);
  EXPECT_THROW(tensor.slice(0, -5), InvalidArgument);
  EXPECT_THROW(tensor.slice(0, 0, 4, 0), InvalidArgument);
  EXPECT_THROW(tensor.slice(0, 0, 4, -1), InvalidArgument);
  EXPECT_THROW(tensor.slice(2, 0), InvalidArgument);
  EXPECT_THROW(tensor.slice(0, std::numeric_limits<std::int64_t>::min()), InvalidArgument);
  EXPECT_THROW(counting({}).slice(0, 0), InvalidArgument);
}

TEST_F(ViewTest, SelectTakesADimensionAway) {
  const Tensor tensor = counting({2, 3, 2});
  EXPECT_THAT(values(tensor.select(1, 2)), ElementsAre(4, 5, 10, 11));
  EXPECT_EQ(tensor.select(1, 2).shape(), (Shape{2, 2}));
  EXPECT_THAT(values(tensor.select(-1, -1)), ElementsAre(1, 3, 5, 7, 9, 11));
  EXPECT_EQ(tensor.select(0, 1).select(0, 1).select(0, 1).item<std::int32_t>(), 9);
  EXPECT_THROW(tensor.select(0, 2), InvalidArgument);
  EXPECT_THROW(tensor.select(0, -3), InvalidArgument);
  EXPECT_THROW(tensor.slice(0, 1, 1).select(0, 0), InvalidArgument);
}

TEST_F(ViewTest, DimensionsArePermuted) {
  const Tensor tensor = counting({2, 3});
  EXPECT_THAT(values(tensor.transpose(0, 1)), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_FALSE(tensor.transpose(0, 1).is_contiguous());
  EXPECT_TRUE(tensor.transpose(0, 1).transpose(-1, -2).is_contiguous());
  const Tensor cube = counting({2, 3, 4});
  EXPECT_EQ(cube.permute({2, 0, 1}).shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(values(cube.permute({2, 0, 1}).permute({1, 2, 0})), values(cube));
  EXPECT_EQ(values(cube.permute({-1, 0, 1})), values(cube.permute({2, 0, 1})));
  EXPECT_THROW(cube.permute({0, 1}), InvalidArgument);
  EXPECT_THROW(cube.permute({0, 1, 1}), InvalidArgument);
  EXPECT_THROW(cube.permute({0, 1, 3}), InvalidArgument);
  EXPECT_EQ(counting({}).permute(std::span<const int>{}).rank(), 0);
}

TEST_F(ViewTest, UnitDimensionsComeAndGo) {
  const Tensor tensor = counting({2, 3});
  EXPECT_EQ(tensor.unsqueeze(0).shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(tensor.unsqueeze(2).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(tensor.unsqueeze(-1).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(tensor.unsqueeze(1).squeeze(1).shape(), tensor.shape());
  EXPECT_EQ(tensor.unsqueeze(0).unsqueeze(2).unsqueeze(4).squeeze().shape(), (Shape{2, 3}));
  EXPECT_TRUE(tensor.unsqueeze(1).is_contiguous());
  EXPECT_EQ(values(tensor.transpose(0, 1).unsqueeze(1)), values(tensor.transpose(0, 1)));
  EXPECT_THROW(tensor.squeeze(0), InvalidArgument);
  EXPECT_THROW(tensor.unsqueeze(3), InvalidArgument);
  EXPECT_THROW(tensor.unsqueeze(-4), InvalidArgument);
  EXPECT_THROW(counting({1, 1, 1, 1, 1, 1, 1, 1}).unsqueeze(0), InvalidArgument);
  EXPECT_EQ(counting({1, 1, 1, 1, 1, 1, 1, 1}).squeeze().rank(), 0);
}

TEST_F(ViewTest, ReshapesWithoutACopyOrNotAtAll) {
  const Tensor tensor = counting({4, 6});
  for (const Shape& shape : {Shape{24}, Shape{2, 2, 6}, Shape{4, 2, 3}, Shape{8, 3},
                             Shape{1, 24, 1}, Shape{2, 1, 2, 3, 2}}) {
    const Tensor view = tensor.reshape(shape);
    EXPECT_EQ(view.shape(), shape);
    EXPECT_EQ(values(view), values(tensor));
    EXPECT_EQ(view.raw_data(), tensor.raw_data());
  }
  const Tensor transposed = tensor.transpose(0, 1);
  EXPECT_THAT([&] { transposed.reshape({24}); },
              ThrowsMessage<InvalidArgument>(
                  AllOf(HasSubstr("[6,4]"), HasSubstr("[24]"), HasSubstr("contiguous()"))));
  EXPECT_EQ(values(transposed.reshape({2, 3, 4})), values(transposed));
  EXPECT_EQ(values(transposed.reshape({6, 2, 2})), values(transposed));
  EXPECT_EQ(values(tensor.slice(1, 0, 6, 2).reshape({4, 3, 1})), values(tensor.slice(1, 0, 6, 2)));
  EXPECT_EQ(values(tensor.slice(1, 0, 6, 2).reshape({12})), values(tensor.slice(1, 0, 6, 2)));
  EXPECT_THROW(tensor.slice(1, 0, 3).reshape({12}), InvalidArgument);
  EXPECT_THROW(tensor.reshape({5, 5}), InvalidArgument);
  EXPECT_EQ(counting({}).reshape({1, 1}).shape(), (Shape{1, 1}));
  EXPECT_EQ(counting({1}).reshape({}).rank(), 0);
  EXPECT_EQ(counting({0, 3}).reshape({5, 0}).shape(), (Shape{5, 0}));
}

TEST_F(ViewTest, ContiguousCopiesOnlyWhatIsNot) {
  const Tensor tensor = counting({3, 4});
  EXPECT_EQ(tensor.contiguous().storage(), tensor.storage());
  EXPECT_EQ(tensor.slice(0, 1).contiguous().storage(), tensor.storage());
  const Tensor copy = tensor.transpose(0, 1).contiguous();
  EXPECT_NE(copy.storage(), tensor.storage());
  EXPECT_TRUE(copy.is_contiguous());
  EXPECT_EQ(values(copy), values(tensor.transpose(0, 1)));
}

TEST_F(ViewTest, WritingThroughAViewReachesTheTensor) {
  const Tensor tensor = counting({2, 3});
  Tensor column = tensor.select(1, 1);
  const std::vector<std::int32_t> fresh = {70, 80};
  column.copy_from<std::int32_t>(fresh);
  EXPECT_THAT(values(tensor), ElementsAre(0, 70, 2, 3, 80, 5));
}

/// Random chains of views against the same done on plain index lists.
TEST_F(ViewTest, RandomChainsAgreeWithIndexArithmetic) {
  constexpr std::uint32_t kSeed = 7;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  for (int round = 0; round < 300; ++round) {
    Tensor tensor = counting({below(4) + 1, below(5) + 1, below(4) + 1});
    std::vector<std::int32_t> expected = values(tensor);
    for (int step = 0; step < 6 && tensor.rank() > 0; ++step) {
      const int dim = static_cast<int>(below(tensor.rank()));
      const Shape before = tensor.shape();
      const auto strides = before.contiguous_strides();
      // Where element `index` (row-major) of the new view was in the old one.
      std::vector<std::int64_t> source;
      const auto at = [&](const Shape& shape, auto map) {
        for (std::int64_t i = 0; i < shape.elements(); ++i) {
          std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()));
          std::int64_t rest = i;
          for (int d = shape.rank() - 1; d >= 0; --d) {
            index[static_cast<std::size_t>(d)] = rest % shape[d];
            rest /= shape[d];
          }
          source.push_back(map(index));
        }
      };
      const auto dot = [&](const std::vector<std::int64_t>& index) {
        std::int64_t sum = 0;
        for (std::size_t d = 0; d < index.size(); ++d) sum += index[d] * strides[d];
        return sum;
      };
      switch (below(3)) {
        case 0: {
          const std::int64_t begin = below(before[dim]);
          const std::int64_t by = below(3) + 1;
          tensor = tensor.slice(dim, begin, Tensor::kToEnd, by);
          at(tensor.shape(), [&](std::vector<std::int64_t> index) {
            auto& mine = index[static_cast<std::size_t>(dim)];
            mine = begin + mine * by;
            return dot(index);
          });
          break;
        }
        case 1: {
          const int other = static_cast<int>(below(tensor.rank()));
          tensor = tensor.transpose(dim, other);
          at(tensor.shape(), [&](std::vector<std::int64_t> index) {
            std::swap(index[static_cast<std::size_t>(dim)], index[static_cast<std::size_t>(other)]);
            return dot(index);
          });
          break;
        }
        default: {
          const std::int64_t chosen = below(before[dim]);
          tensor = tensor.select(dim, chosen);
          at(tensor.shape(), [&](std::vector<std::int64_t> index) {
            index.insert(index.begin() + dim, chosen);
            return dot(index);
          });
        }
      }
      std::vector<std::int32_t> next;
      for (const std::int64_t i : source) next.push_back(expected[static_cast<std::size_t>(i)]);
      expected = next;
      ASSERT_EQ(values(tensor), expected);
      ASSERT_EQ(values(tensor.contiguous()), expected);
      try {
        ASSERT_EQ(values(tensor.reshape({tensor.elements()})), expected);
      } catch (const InvalidArgument&) {
        ASSERT_FALSE(tensor.is_contiguous());
      }
    }
  }
}

TEST(TensorViews, WithoutElementsCanBeSlicedWhateverTheirExtents) {
  const Device cpu = test::own_cpu({.limit = MiB(1)});
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  const Tensor none = Tensor::zeros(Shape{4, 0, kHuge}, DType::f64, cpu);
  EXPECT_EQ(none.slice(0, 1, 4, 2).shape(), (Shape{2, 0, kHuge}));
  EXPECT_EQ(none.select(0, 3).shape(), (Shape{0, kHuge}));
}

}  // namespace
}  // namespace plimsoll

// Products and convolutions large enough to be divided among threads, each way there is, beside the
// same in one thread.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/base/parallel.h>
#include <plimsoll/ops/convolution.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/tape.h>

#include "backend/cpu/convolution_division.h"
#include "backend/cpu/division.h"
#include "support/op_cases.h"
#include "support/op_checks.h"

namespace plimsoll {
namespace {

using test::as_doubles;
using test::random_tensor;

/// Runs `work` in one thread and divided for more, and compares.
void expect_same_in_threads(const std::function<std::vector<Tensor>()>& work,
                            const std::string& what) {
  set_compute_threads(1);
  const std::vector<Tensor> expected = work();
  for (const int threads : {2, 3, 7}) {
    set_compute_threads(threads);
    const std::vector<Tensor> actual = work();
    const std::vector<Tensor> again = work();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::string name =
          what + ", " + std::to_string(threads) + " threads, result " + std::to_string(i);
      test::expect_near(as_doubles(actual[i]), as_doubles(expected[i]), 1e-5, name);
      EXPECT_TRUE(test::same_bits(actual[i], again[i])) << name;
    }
  }
  set_compute_threads(0);
}

struct ConvCase {
  std::string name;
  Shape x;
  Shape weight;
  ops::ConvOptions options;
};

TEST(DividedConvolution, EachWayToDivideItGivesTheSame) {
  const std::vector<ConvCase> cases = {
      {"by pictures", {10, 16, 20, 21}, {24, 16, 3, 3}, {.padding = {1, 1, 1, 1}}},
      {"by pictures, NHWC",
       {9, 20, 21, 16},
       {24, 16, 3, 3},
       {.padding = {1, 1, 1, 1}, .layout = Layout::channels_last}},
      {"by channels", {5, 100, 4, 5}, {120, 100, 3, 3}, {.padding = {1, 1, 1, 1}}},
      {"by channels, NHWC",
       {5, 4, 5, 100},
       {120, 100, 3, 3},
       {.padding = {1, 1, 1, 1}, .layout = Layout::channels_last}},
      {"one picture", {1, 40, 30, 31}, {50, 40, 3, 3}, {.stride = {2, 1}}},
      {"groups of one picture", {1, 64, 30, 31}, {64, 32, 3, 3}, {.groups = 2}},
      {"depthwise", {2, 96, 40, 41}, {96, 1, 3, 3}, {.groups = 96}},
      {"copies in chunks", {40, 16, 80, 80}, {16, 16, 1, 1}, {}},
  };
  std::uint64_t seed = 1;
  for (const ConvCase& each : cases) {
    const Tensor x = random_tensor(each.x, ++seed);
    const Tensor weight = random_tensor(each.weight, ++seed);
    const Tensor bias = random_tensor({each.weight[0]}, ++seed);
    expect_same_in_threads(
        [&] {
          const std::vector<Tensor> sources = {x, weight};
          ops::GradientTape tape;
          tape.watch(sources);
          const Tensor y = ops::conv2d(x, weight, bias, each.options);
          const auto gradients = tape.gradient(ops::square(y), sources);
          return std::vector<Tensor>{y, gradients[0], gradients[1]};
        },
        each.name);
  }
}

TEST(DividedProduct, EachWayToDivideItGivesTheSame) {
  struct Case {
    Shape a;
    Shape b;
    bool transpose_a;
    bool transpose_b;
  };
  const std::vector<Case> cases = {
      {{500, 70}, {70, 90}, false, false},     {{30, 300}, {300, 700}, false, false},
      {{70, 500}, {90, 70}, true, true},       {{3, 200, 64}, {3, 64, 100}, false, false},
      {{9, 60, 64}, {9, 50, 64}, false, true}, {{5, 1, 80, 64}, {4, 64, 90}, false, false},
  };
  std::uint64_t seed = 1;
  for (const Case& each : cases) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Tensor a = random_tensor(each.a, ++seed, dtype);
      const Tensor b = random_tensor(each.b, ++seed, dtype);
      expect_same_in_threads(
          [&] {
            return std::vector<Tensor>{ops::matmul(
                a, b, {.transpose_a = each.transpose_a, .transpose_b = each.transpose_b})};
          },
          each.a.to_string() + each.b.to_string());
    }
  }
  const Tensor x = random_tensor({300, 150}, 7);
  const Tensor weight = random_tensor({210, 150}, 8);
  const Tensor bias = random_tensor({210}, 9);
  expect_same_in_threads([&] { return std::vector<Tensor>{ops::linear(x, weight, bias)}; },
                         "linear");
}

TEST(ProductGrid, PartsCoverTheResultOnceAndAreNotEmpty) {
  for (const int threads : {1, 2, 3, 7, 16, 64}) {
    for (const std::int64_t m : {1, 15, 16, 17, 100, 5000}) {
      for (const std::int64_t n : {1, 33, 640}) {
        const auto grid = cpu::ProductGrid::of(m, n, 1 << 20, threads);
        EXPECT_LE(grid.parts(), threads);
        std::int64_t covered = 0;
        for (std::int64_t i = 0; i < grid.parts(); ++i) {
          const auto rows = cpu::Part::of(m, i / grid.columns, grid.rows, cpu::kDivisionBlock);
          const auto columns =
              cpu::Part::of(n, i % grid.columns, grid.columns, cpu::kDivisionBlock);
          EXPECT_GT(rows.size, 0);
          EXPECT_GT(columns.size, 0);
          covered += rows.size * columns.size;
        }
        EXPECT_EQ(covered, m * n) << m << ' ' << n << ' ' << threads;
      }
    }
  }
}

}  // namespace
}  // namespace plimsoll

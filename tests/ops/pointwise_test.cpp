// The text of kernels for groups of pointwise ops.
#include <plimsoll/ops/pointwise.h>

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>

namespace plimsoll {
namespace {

using ops::find_op;
using ops::PointwiseArray;
using ops::PointwiseGroup;
using ops::PointwiseOperand;
using ops::Spread;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

PointwiseOperand array(int i) { return {.step = false, .index = i}; }
PointwiseOperand result(int i) { return {.step = true, .index = i}; }

/// x * factor + y
struct ScaledSum {
  explicit ScaledSum(DType dtype, double number = 1.5, PointwiseArray y = {})
      : factor({{"factor", number}}) {
    y.dtype = dtype;
    group = {.elements = 4096,
             .arrays = {{.dtype = dtype}, y},
             .steps = {{.op = find_op("scale"),
                        .attributes = &factor,
                        .inputs = {array(0)},
                        .dtype = dtype},
                       {.op = find_op("add"),
                        .attributes = &none,
                        .inputs = {result(0), array(1)},
                        .dtype = dtype}},
             .written = {1}};
  }
  ops::Attributes factor;
  ops::Attributes none;
  PointwiseGroup group;
};

TEST(PointwiseText, EveryResultIsRoundedToItsDtype) {
  const auto kernel = ops::pointwise_kernel(ScaledSum(DType::bf16).group);
  EXPECT_THAT(kernel.text,
              HasSubstr("const bf16 r0 = narrow<bf16>(element::scale(widen(x0[i]), n0));"));
  EXPECT_THAT(kernel.text,
              HasSubstr("const bf16 r1 = narrow<bf16>(element::add(widen(r0), widen(x1[i])));"));
  EXPECT_THAT(kernel.text, HasSubstr("y0[i] = r1;"));
  EXPECT_THAT(kernel.text,
              HasSubstr("const i64 count, const bf16* in0, const bf16* in1, bf16* out0, "
                        "const f32 n0)"));
  EXPECT_EQ(kernel.each_block, 256 * 16);
}

TEST(PointwiseText, NumbersAreNotInIt) {
  const auto one = ops::pointwise_kernel(ScaledSum(DType::f32, 1.5).group);
  const auto other = ops::pointwise_kernel(ScaledSum(DType::f32, -0.0).group);
  EXPECT_EQ(one.text, other.text);
  EXPECT_THAT(one.numbers, ElementsAre(0x3fc00000U));
  EXPECT_THAT(other.numbers, ElementsAre(0x80000000U));
  // One function serves both.
  const std::vector kernels = {one, other, ops::pointwise_kernel(ScaledSum(DType::f64).group)};
  const auto program = ops::pointwise_program(kernels);
  EXPECT_THAT(program.functions, ElementsAre("pointwise_0", "pointwise_1"));
  EXPECT_THAT(program.function_of, ElementsAre(0U, 0U, 1U));
  EXPECT_THAT(program.text, Not(HasSubstr("NAME")));
  EXPECT_THAT(kernels[2].numbers, ElementsAre(0x3ff8000000000000U));
}

TEST(PointwiseText, IntegersWrapAsTheirOpsDo) {
  EXPECT_THAT(ops::pointwise_kernel(ScaledSum(DType::i32, -3).group).numbers,
              ElementsAre(0xfffffffffffffffdU));
  EXPECT_THAT(ops::pointwise_kernel(ScaledSum(DType::u8, 259).group).numbers, ElementsAre(3U));
}

TEST(PointwiseText, RowsBeginWithWholeVectors) {
  const auto text = [](std::int64_t inner, Spread spread) {
    return ops::pointwise_kernel(
               ScaledSum(DType::bf16, 2, {.spread = spread, .inner = inner}).group)
        .text;
  };
  EXPECT_THAT(text(768, Spread::rows), HasSubstr("Tile<8, 2>"));
  EXPECT_THAT(text(768, Spread::rows), HasSubstr("tile.read_rows(in1, inner0, x1);"));
  EXPECT_THAT(text(12, Spread::rows), HasSubstr("Tile<4, 4>"));
  EXPECT_THAT(text(33, Spread::columns), HasSubstr("Tile<1, 16>"));
  EXPECT_THAT(text(33, Spread::columns), HasSubstr("tile.read_columns(in1, inner0, x1);"));
  EXPECT_EQ(text(768, Spread::rows), text(1024, Spread::rows));
}

TEST(PointwiseText, QuickFunctionsAreForSixteenBitsOnly) {
  const ops::Attributes tanh = {{"tanh", true}};
  for (const DType dtype : {DType::f32, DType::f16}) {
    const PointwiseGroup group{.elements = 64,
                               .arrays = {{.dtype = dtype}},
                               .steps = {{.op = find_op("gelu"),
                                          .attributes = &tanh,
                                          .inputs = {array(0)},
                                          .dtype = dtype}},
                               .written = {0}};
    EXPECT_THAT(ops::pointwise_kernel(group).text,
                HasSubstr(dtype == DType::f16 ? "gelu_tanh<true>(" : "gelu_tanh<false>("));
  }
}

TEST(PointwiseText, AnOpWithoutAFunctionIsRefused) {
  ScaledSum sum(DType::f32);
  sum.group.steps[0].op = find_op("softmax");
  EXPECT_THROW((void)ops::pointwise_kernel(sum.group), InternalError);
}

}  // namespace
}  // namespace plimsoll

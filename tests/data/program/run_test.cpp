// What programs compute: against plain C++, whatever is known of extents beforehand.

#include <gmock/gmock.h>

#include "data/program/random_programs.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Element element_of(const Matrix& a, const Matrix& b, const Device& device) {
  return {Value(row_of(a.values, {a.rows, a.columns}, device)),
          Value(row_of(b.values, {b.rows, b.columns}, device))};
}

TEST(ProgramRun, RandomProgramsEqualPlainCode) {
  const Device device = host();
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomProgram random(seed);
    const Program program =
        trace_program(random.spec(), [&](Symbolics in) { return random.describe(in); });
    const Matrix a = random.input(seed);
    const Matrix b = random.input(seed + 1000);
    const std::vector<Matrix> expected = random.evaluate(a, b);
    // Twice: nothing is left behind in the program.
    for (int run = 0; run < 2; ++run) {
      const Element result = program.run(element_of(a, b, device), device);
      ASSERT_EQ(result.size(), 3U);
      for (std::size_t i = 0; i < 2; ++i) {
        ASSERT_EQ(result[i].tensor().to_vector<float>(), expected[i].values) << program.to_string();
      }
      const std::vector<float> sums = result[2].tensor().to_vector<float>();
      ASSERT_EQ(sums.size(), expected[2].values.size());
      for (std::size_t r = 0; r < sums.size(); ++r) {
        EXPECT_NEAR(sums[r], expected[2].values[r], 1e-4) << program.to_string();
      }
    }
  }
}

TEST(ProgramRun, LeavesItsInputsAlone) {
  const Device device = host();
  const Program program = trace_program(elements_of({numbers_of(DType::f32, {3})}), [](Symbolic x) {
    return Symbolics{{"x", x}, {"y", (x + 1) * 2}, {"z", -reshape(x, {3, 1})}};
  });
  const Tensor x = row_of<float>({1, 2, 3}, {3}, device);
  const Element result = program.run({Value(x)}, device);
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(result[1].tensor().to_vector<float>(), ElementsAre(4, 6, 8));
  EXPECT_THAT(result[2].tensor().to_vector<float>(), ElementsAre(-1, -2, -3));
  EXPECT_EQ(result[2].shape(), (Shape{3, 1}));
}

TEST(ProgramRun, AValueThatIsReadAgainIsNotWrittenOver) {
  const Device device = host();
  const Program program = trace_program(elements_of({numbers_of(DType::f32, {2})}), [](Symbolic x) {
    const Symbolic doubled = x * 2;
    const Symbolic viewed = reshape(doubled, {2, 1});
    const Symbolic shifted = doubled + 1;
    return Symbolics{{"a", shifted * 3}, {"b", viewed + 0}, {"c", doubled}};
  });
  const Element result = program.run({Value(row_of<float>({1, 2}, {2}, device))}, device);
  EXPECT_THAT(result[0].tensor().to_vector<float>(), ElementsAre(9, 15));
  EXPECT_THAT(result[1].tensor().to_vector<float>(), ElementsAre(2, 4));
  EXPECT_THAT(result[2].tensor().to_vector<float>(), ElementsAre(2, 4));
}

TEST(ProgramRun, ReadsViewsWithGaps) {
  const Device device = host();
  const Program program =
      trace_program(elements_of({numbers_of(DType::f32, {kAnyExtent, kAnyExtent})}),
                    [](Symbolic x) { return x + 1; });
  const Tensor matrix = row_of<float>({1, 2, 3, 4, 5, 6}, {2, 3}, device);
  const Element result = program.run({Value(matrix.transpose(0, 1))}, device);
  EXPECT_THAT(result[0].tensor().to_vector<float>(), ElementsAre(2, 5, 3, 6, 4, 7));
}

TEST(ProgramRun, ScalarsNeedNoMemory) {
  const Device device = host();
  const Program program =
      trace_program(elements_of({TensorSpec::scalar(DType::i64)}), [](Symbolic n) {
        return Symbolics{n * n, cast(n, DType::f32) / 4, n > 2, one_hot(n, 4)};
      });
  const Element result = program.run({std::int64_t{3}}, device);
  EXPECT_EQ(result[0].as<std::int64_t>(), 9);
  EXPECT_EQ(result[1].as<float>(), 0.75F);
  EXPECT_TRUE(result[2].as<bool>());
  EXPECT_THAT(result[3].tensor().to_vector<float>(), ElementsAre(0, 0, 0, 1));
  EXPECT_TRUE(result[0].is_scalar());
}

TEST(ProgramRun, IntegersDividedGiveFloatsAndNumbersAreWeak) {
  const Device device = host();
  const Program program =
      trace_program(elements_of({numbers_of(DType::u8, {kAnyExtent})}), [](Symbolic x) {
        return Symbolics{x / 2, 200 - x, cast(x, DType::f32) * 0.5};
      });
  const Element result =
      program.run({Value(row_of<std::uint8_t>({1, 2, 255}, {3}, device).slice(0, 0, 2))}, device);
  EXPECT_THAT(result[0].tensor().to_vector<float>(), ElementsAre(0.5F, 1));
  EXPECT_THAT(result[1].tensor().to_vector<std::uint8_t>(), ElementsAre(199, 198));
  EXPECT_THAT(result[2].tensor().to_vector<float>(), ElementsAre(0.5F, 1));
}

TEST(ProgramRun, GivesConstantsAndMatrixProducts) {
  const Device device = host();
  const Program program =
      trace_program(elements_of({numbers_of(DType::f32, {kAnyExtent, 2})}), [&](Symbolic x) {
        const Symbolic weights =
            constant_like(x, Value(row_of<float>({1, 0, 0, 2}, {2, 2}, device)));
        return Symbolics{{"product", matmul(x, weights)},
                         {"weights", weights},
                         {"one", constant_like(x, Value(std::int64_t{1}))}};
      });
  for (const std::int64_t rows : {1, 3, 1}) {
    std::vector<float> values(static_cast<std::size_t>(rows) * 2, 3.0F);
    const Element result = program.run({Value(row_of(values, {rows, 2}, device))}, device);
    EXPECT_EQ(result[0].shape(), (Shape{rows, 2}));
    EXPECT_EQ(result[0].tensor().to_vector<float>()[1], 6.0F);
    EXPECT_THAT(result[1].tensor().to_vector<float>(), ElementsAre(1, 0, 0, 2));
    EXPECT_EQ(result[2].as<std::int64_t>(), 1);
  }
}

TEST(ProgramRun, BytesBecomeNumbers) {
  const Device device = host();
  const Program program =
      trace_program(elements_of({TensorSpec::scalar(DType::bytes)}), [](Symbolic bytes) {
        return reshape(decode_raw(bytes, DType::u16), {2, 2});
      });
  EXPECT_EQ(program.output_spec().to_string(), "(u16 [2,2])");
  const Element result =
      program.run({text_value(std::string_view("\1\0\2\0\3\0\4\1", 8), device)}, device);
  EXPECT_THAT(result[0].tensor().to_vector<std::uint16_t>(), ElementsAre(1, 2, 3, 260));
  EXPECT_THAT(message_of<DataError>([&] { program.run({text_value("abc", device)}, device); }),
              HasSubstr("3 bytes are not a whole number of u16"));
}

}  // namespace
}  // namespace plimsoll::data::testing

// Functions of one's own in programs, and ops that draw, measure and choose.

#include <plimsoll/data/program_function.h>

#include <set>

#include <gmock/gmock.h>

#include "data/program/program_support.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;

ProgramFunction doubled() {
  ProgramFunction function;
  function.name = "doubled";
  function.outputs = {numbers_of(DType::f32, {2}), TensorSpec::scalar(DType::i64)};
  function.run = [](std::span<const Value> inputs, MapContext& context) {
    Tensor made = context.empty({2}, DType::f32);
    for (std::int64_t i = 0; i < 2; ++i) {
      made.mutable_data<float>()[i] = 2 * inputs[0].tensor().data<float>()[i];
    }
    return std::vector<Value>{Value(made), Value(inputs[1].as<std::int64_t>() + 1)};
  };
  return function;
}

Program calling(const std::string& key) {
  return trace_program(
      elements_of({numbers_of(DType::f32, {2}), TensorSpec::scalar(DType::i64)}),
      [&](const Symbolics& in) {
        const std::vector<Symbolic> inputs{in[0], in[1]};
        const auto results = call_like(in[0], "call_function", inputs, {{"function", key}});
        return Symbolics{results[0] + 1, results[1]};
      });
}

TEST(ProgramFunctions, RunInTheMiddleOfAProgram) {
  const Device device = host();
  const RegisteredFunction registered(doubled());
  const Element result =
      calling(registered.key())
          .run({Value(row_of<float>({1, 2}, {2}, device)), Value(std::int64_t{7})}, device);
  EXPECT_THAT(result[0].tensor().to_vector<float>(), ElementsAre(FloatEq(3), FloatEq(5)));
  EXPECT_EQ(result[1].as<std::int64_t>(), 8);
}

TEST(ProgramFunctions, AreCalledByTheirHandle) {
  const Device device = host();
  const RegisteredFunction registered(doubled());
  const Program program =
      trace_program(elements_of({numbers_of(DType::f32, {2}), TensorSpec::scalar(DType::i64)}),
                    [&](const Symbolic& row, const Symbolic& count) {
                      const auto results = call_function(registered, {row, count});
                      return Symbolics{row - results[0], results[1]};
                    });
  const Element result =
      program.run({Value(row_of<float>({1, 2}, {2}, device)), Value(std::int64_t{7})}, device);
  EXPECT_THAT(result[0].tensor().to_vector<float>(), ElementsAre(FloatEq(-1), FloatEq(-2)));
  EXPECT_EQ(result[1].as<std::int64_t>(), 8);
  EXPECT_THAT(message_of<InvalidArgument>([&] { call_function(registered, {}); }),
              HasSubstr("\"doubled\" is called without inputs"));
}

TEST(ProgramFunctions, OfOneNameAreToldApartByANumber) {
  const RegisteredFunction first(doubled());
  const RegisteredFunction second(doubled());
  EXPECT_EQ(first.key(), "doubled");
  EXPECT_EQ(second.key(), "doubled#2");
}

TEST(ProgramFunctions, ThatAreGoneSayWhatToKeep) {
  std::string key;
  {
    const RegisteredFunction registered(doubled());
    key = registered.key();
  }
  EXPECT_THAT(message_of<InvalidArgument>([&] { calling(key); }), HasSubstr("is gone; keep"));
}

TEST(ProgramFunctions, ThatGiveSomethingElseAreNamed) {
  const Device device = host();
  ProgramFunction function = doubled();
  function.run = [](std::span<const Value>, MapContext&) {
    return std::vector<Value>{Value(1.0F), Value(std::int64_t{1})};
  };
  const RegisteredFunction registered(std::move(function));
  const Program program = calling(registered.key());
  EXPECT_THAT(
      message_of<DataError>([&] {
        program.run({Value(row_of<float>({1, 2}, {2}, device)), Value(std::int64_t{7})}, device);
      }),
      HasSubstr("[doubled] result 0 is f32 [], and f32 [2] was declared"));
}

Element drawn(const char* op, const ops::Attributes& attributes, std::uint64_t seed) {
  const Device device = host();
  const Program program = trace_program(
      elements_of({TensorSpec::scalar(DType::i64)}),
      [&](const Symbolics& in) { return Symbolics{call_like(in[0], op, {}, attributes).front()}; });
  return program.run({Value(std::int64_t{0})}, device, seed);
}

TEST(ProgramDraws, StayWithinTheirBoundsAndDependOnTheSeed) {
  const ops::Attributes attributes{{"shape", std::vector<std::int64_t>{1000}},
                                   {"dtype", DType::f32},
                                   {"low", -1.0},
                                   {"high", 3.0}};
  const auto numbers = drawn("draw_uniform", attributes, 1)[0].tensor().to_vector<float>();
  double total = 0;
  for (const float each : numbers) {
    EXPECT_GE(each, -1);
    EXPECT_LT(each, 3);
    total += each;
  }
  EXPECT_NEAR(total / 1000, 1, 0.15);
  EXPECT_EQ(drawn("draw_uniform", attributes, 1)[0].tensor().to_vector<float>(), numbers);
  EXPECT_NE(drawn("draw_uniform", attributes, 2)[0].tensor().to_vector<float>(), numbers);
}

TEST(ProgramDraws, OfIntegersReachAllOfThem) {
  const auto numbers = drawn("draw_uniform",
                             {{"shape", std::vector<std::int64_t>{200}},
                              {"dtype", DType::i64},
                              {"low", 2.0},
                              {"high", 6.0}},
                             3)[0]
                           .tensor()
                           .to_vector<std::int64_t>();
  EXPECT_EQ(std::set<std::int64_t>(numbers.begin(), numbers.end()),
            (std::set<std::int64_t>{2, 3, 4, 5}));
}

TEST(ProgramDraws, AreNormal) {
  const auto numbers =
      drawn("draw_normal",
            {{"shape", std::vector<std::int64_t>{4000}}, {"mean", 5.0}, {"deviation", 2.0}}, 4)[0]
          .tensor()
          .to_vector<float>();
  double total = 0;
  double squares = 0;
  for (const float each : numbers) {
    total += each;
    squares += (each - 5) * (each - 5);
  }
  EXPECT_NEAR(total / 4000, 5, 0.1);
  EXPECT_NEAR(squares / 4000, 4, 0.3);
}

TEST(ProgramOps, GiveExtentsThatDiffer) {
  const Device device = host();
  const Program program = trace_program(
      elements_of({numbers_of(DType::f32, {kAnyExtent, 3})}), [](const Symbolics& in) {
        return Symbolics{call_like(in[0], "extents", {&in[0], 1}, {{"dtype", DType::i32}}).front()};
      });
  const Element result =
      program.run({Value(row_of<float>({1, 2, 3, 4, 5, 6}, {2, 3}, device))}, device);
  EXPECT_THAT(result[0].tensor().to_vector<std::int32_t>(), ElementsAre(2, 3));
}

TEST(ProgramOps, ChooseAndCompareStrings) {
  const Device device = host();
  const Program program =
      trace_program(elements_of({TensorSpec::scalar(DType::bytes)}), [](const Symbolics& in) {
        const Symbolic parts = strings::split(in[0], "/");
        const Symbolic last =
            call_like(in[0], "text_at", {&parts, 1}, {{"index", std::int64_t{-2}}}).front();
        const std::vector<Symbolic> both{parts, last};
        return Symbolics{last, call_like(in[0], "text_equal", both).front()};
      });
  const Element result = program.run({text_value("a/cat/cat/1.jpg", device)}, device);
  EXPECT_EQ(result[0].text(), "cat");
  const Tensor& same = result[1].tensor();
  ASSERT_EQ(same.shape(), (Shape{4}));
  const std::vector<int> found(same.data<bool>(), same.data<bool>() + 4);
  EXPECT_THAT(found, ElementsAre(0, 1, 1, 0));
}

TEST(ProgramOps, ColoursSurviveTheWayToHsvAndBack) {
  const Device device = host();
  const Program program =
      trace_program(elements_of({numbers_of(DType::f32, {2, 3})}), [](const Symbolics& in) {
        const Symbolic hsv = call_like(in[0], "rgb_to_hsv", {&in[0], 1}).front();
        return Symbolics{hsv, call_like(in[0], "hsv_to_rgb", {&hsv, 1}).front()};
      });
  const Element result = program.run(
      {Value(row_of<float>({0.5F, 0.25F, 0.75F, 0.2F, 0.2F, 0.2F}, {2, 3}, device))}, device);
  const auto hsv = result[0].tensor().to_vector<float>();
  EXPECT_NEAR(hsv[0], 0.75, 1e-6);
  EXPECT_NEAR(hsv[1], 2.0 / 3, 1e-6);
  EXPECT_NEAR(hsv[2], 0.75, 1e-6);
  const auto rgb = result[1].tensor().to_vector<float>();
  EXPECT_NEAR(rgb[0], 0.5, 1e-6);
  EXPECT_NEAR(rgb[1], 0.25, 1e-6);
  EXPECT_NEAR(rgb[5], 0.2, 1e-6);
}

}  // namespace
}  // namespace plimsoll::data::testing

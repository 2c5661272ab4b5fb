// Byte strings in programs.

#include <gmock/gmock.h>

#include "data/program/program_support.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Element run_on(std::string_view text, const std::function<Symbolics(Symbolics)>& function) {
  static const Device device = host();
  const Program program = trace_program(elements_of({TensorSpec::scalar(DType::bytes)}), function);
  return program.run({text_value(text, device)}, device);
}

std::string changed(std::string_view text, const std::function<Symbolics(Symbolics)>& function) {
  return std::string(run_on(text, function)[0].text());
}

TEST(ProgramStrings, AreChanged) {
  EXPECT_EQ(changed("Über ABC", [](Symbolics in) { return strings::lower(in[0]); }), "Über abc");
  EXPECT_EQ(changed("abc-9", [](Symbolics in) { return strings::upper(in[0]); }), "ABC-9");
  EXPECT_EQ(changed(" \t x y\n", [](Symbolics in) { return strings::strip(in[0]); }), "x y");
  EXPECT_EQ(changed("  ", [](Symbolics in) { return strings::strip(in[0]); }), "");
  EXPECT_EQ(changed("abcdef", [](Symbolics in) { return strings::substr(in[0], 1, 3); }), "bcd");
  EXPECT_EQ(changed("abcdef", [](Symbolics in) { return strings::substr(in[0], -2); }), "ef");
  EXPECT_EQ(changed("ab", [](Symbolics in) { return strings::substr(in[0], -9, 1); }), "a");
  EXPECT_EQ(changed("ab", [](Symbolics in) { return strings::substr(in[0], 7); }), "");
  EXPECT_EQ(changed("a.b.c", [](Symbolics in) { return strings::replace(in[0], ".", "--"); }),
            "a--b--c");
}

TEST(ProgramStrings, AreTested) {
  const Element result = run_on("photos/cat.jpg", [](Symbolics in) {
    return Symbolics{strings::length(in[0]), strings::contains(in[0], "cat"),
                     strings::starts_with(in[0], "cat"), strings::ends_with(in[0], ".jpg"),
                     strings::equals(in[0], "photos")};
  });
  EXPECT_EQ(result.to_string(), "(14, true, false, true, false)");
}

TEST(ProgramStrings, AreSplitAndJoined) {
  const Element result = run_on("a,,b", [](Symbolics in) {
    const Symbolic parts = strings::split(in[0], ",");
    return Symbolics{parts, strings::length(parts), strings::join(strings::upper(parts), "+")};
  });
  EXPECT_EQ(result[0].shape(), (Shape{3}));
  EXPECT_EQ(result[0].tensor().string_at(1), "");
  EXPECT_THAT(result[1].tensor().to_vector<std::int64_t>(), ElementsAre(1, 0, 1));
  EXPECT_EQ(result[2].text(), "A++B");
}

TEST(ProgramStrings, AreReadAsNumbers) {
  const Element result = run_on("1, -2.5,+3e2", [](Symbolics in) {
    return strings::to_number(strings::split(in[0], ","), DType::f32) * 2;
  });
  EXPECT_THAT(result[0].tensor().to_vector<float>(), ElementsAre(2, -5, 600));
  const auto refusal = [](std::string_view text, DType dtype) {
    return message_of<DataError>(
        [&] { run_on(text, [dtype](Symbolics in) { return strings::to_number(in[0], dtype); }); });
  };
  EXPECT_THAT(refusal("12x", DType::i64), HasSubstr("\"12x\" is not a number of i64"));
  EXPECT_THAT(refusal("", DType::f32), HasSubstr("\"\" is not a number of f32"));
  EXPECT_THAT(refusal("300", DType::u8), HasSubstr("\"300\" does not fit u8"));
  EXPECT_THAT(refusal("-1", DType::u8), HasSubstr("\"-1\""));
}

TEST(ProgramStrings, LinesOfATableBecomeNumbersInAPipeline) {
  const TemporaryFolder folder;
  folder.write("table.csv", "x,y\n1,10\n2,20\n3,30\n");
  const auto rows =
      Dataset::text_lines({(folder.path() / "table.csv").string()}).skip(1).map([](Symbolic line) {
        const Symbolic numbers =
            reshape(strings::to_number(strings::split(line, ","), DType::f32), {2});
        return Symbolics{{"x", slice(numbers, 0, 0, 1)}, {"y", slice(numbers, 0, 1, 2)}};
      });
  EXPECT_EQ(rows.element_spec().to_string(), "(x f32 [1], y f32 [1])");
  const Device device = host();
  Pipeline pipeline(rows.batch(3), device);
  const auto batch = pipeline.next();
  EXPECT_THAT((*batch)["x"].tensor().to_vector<float>(), ElementsAre(1, 2, 3));
  EXPECT_THAT((*batch)["y"].tensor().to_vector<float>(), ElementsAre(10, 20, 30));
}

}  // namespace
}  // namespace plimsoll::data::testing

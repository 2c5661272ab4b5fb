// A program is a value: it is printed, compared, put together and told apart.

#include <gmock/gmock.h>

#include "data/program/program_support.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Program loading(int height) {
  return trace_program(labelled_paths(), [height](Symbolics in) {
    const Symbolic picture = image::decode(read_file(in["path"]));
    return Symbolics{{"image", image::resize(picture, height, 224) / 255}, {"label", in["label"]}};
  });
}

TEST(Program, IsPrintedInstructionByInstruction) {
  EXPECT_EQ(loading(224).to_string(),
            "(path bytes [], label i64 [])\n"
            "%2 = read_file(%0) -> bytes []\n"
            "%3 = decode_image(%2, channels=3, dct=\"fast\", apply_orientation=false) -> u8 "
            "[?,?,3]\n"
            "%4 = resize(%3, height=224, width=224, filter=\"bilinear\", antialias=false) -> f32 "
            "[224,224,3]\n"
            "%5 = div(%4, 255) -> f32 [224,224,3]\n"
            "return image=%5, label=%1\n");
}

TEST(Program, SaysWhatItTakesAndGives) {
  const Program program = loading(224);
  EXPECT_EQ(program.input_spec(), labelled_paths());
  EXPECT_EQ(program.output_spec().to_string(), "(image f32 [224,224,3], label i64 [])");
  EXPECT_EQ(program.instructions().size(), 4U);
  EXPECT_EQ(program.instructions()[2].op, "resize");
  EXPECT_EQ(program.instructions()[2].attributes.integer("height"), 224);
  EXPECT_EQ(program.constants().size(), 1U);
}

TEST(Program, HasASignatureThatOnlyItsTextDecides) {
  EXPECT_EQ(loading(224).signature(), loading(224).signature());
  EXPECT_EQ(loading(224), loading(224));
  EXPECT_NE(loading(224).signature(), loading(225).signature());
  EXPECT_FALSE(loading(224) == loading(225));
  EXPECT_EQ(loading(224).signature().size(), 16U);
  // In any process, so this never changes.
  const Program one = trace_program(elements_of({TensorSpec::scalar(DType::i64)}),
                                    [](Symbolic x) { return x + 1; });
  EXPECT_EQ(one.to_string(), "(i64 [])\n%1 = add(%0, 1) -> i64 []\nreturn %1\n");
}

TEST(Program, TellsLargeConstantsApartByTheirContents) {
  const Device device = host();
  const auto with = [&](float last) {
    std::vector<float> values(20, 1.0F);
    values.back() = last;
    return trace_program(elements_of({numbers_of(DType::f32, {20})}), [&](Symbolic x) {
      return x + constant_like(x, Value(row_of<float>(values, {20}, device)));
    });
  };
  EXPECT_EQ(with(2).signature(), with(2).signature());
  EXPECT_NE(with(2).signature(), with(3).signature());
  EXPECT_THAT(with(2).to_string(), HasSubstr("f32 [20] #"));
}

TEST(Program, LeavesOutWhatNobodyNeeds) {
  const Program program = trace_program(elements_of({numbers_of(DType::f32, {3})}), [](Symbolic x) {
    const Symbolic unused = exp(x) * 7;
    const Symbolic used = x + 1;
    (void)(unused + used);
    return used;
  });
  EXPECT_EQ(program.to_string(), "(f32 [3])\n%1 = add(%0, 1) -> f32 [3]\nreturn %1\n");
}

TEST(Program, KeepsTheNamesOfItsInputsUnlessOthersAreGiven) {
  const auto names = [](const std::function<Symbolics(Symbolics)>& function) {
    return trace_program(labelled_paths(), function).output_spec().names;
  };
  EXPECT_THAT(names([](Symbolics in) {
                return Symbolics{strings::lower(in[0]), in[1] + 1};
              }),
              ElementsAre("path", "label"));
  EXPECT_THAT(names([](Symbolics in) { return Symbolics{in[1]}; }), ElementsAre("label"));
  EXPECT_THAT(names([](Symbolics in) {
                return Symbolics{{"name", in[0]}, {"length", strings::length(in[0])}};
              }),
              ElementsAre("name", "length"));
  EXPECT_THAT(names([](Symbolics in) {
                return Symbolics{in[0], in[1], strings::length(in[0])};
              }),
              ElementsAre("path", "label", "2"));
  EXPECT_TRUE(names([](Symbolics in) { return Symbolics{strings::length(in[0])}; }).empty());
}

TEST(Program, IsPutTogetherWithAnother) {
  const Program first = trace_program(labelled_paths(), [](Symbolics in) {
    return Symbolics{{"image", image::decode(read_file(in["path"]))}, {"label", in["label"]}};
  });
  const Program second = trace_program(first.output_spec(), [](Symbolics in) {
    return Symbolics{image::resize(in["image"], 224, 224) / 255, in["label"]};
  });
  EXPECT_EQ(first.then(second), loading(224));
  EXPECT_EQ(first.then(second).signature(), loading(224).signature());
  EXPECT_THAT(message_of<InvalidArgument>([&] { second.then(first); }),
              HasSubstr("the next program takes (path bytes [], label i64 []), and this gives "
                        "(image f32 [224,224,3], label i64 [])"));
}

TEST(Program, TakesFunctionsOfOneTwoOrThreeComponents) {
  const TensorSpec number = TensorSpec::scalar(DType::i64);
  const Device device = host();
  const Program two =
      trace_program(elements_of({number, number}), [](Symbolic a, Symbolic b) { return a + b; });
  EXPECT_EQ(two.run({std::int64_t{2}, std::int64_t{3}}, device).at(0).as<std::int64_t>(), 5);
  const Program three =
      trace_program(elements_of({number, number, number}), [](Symbolic a, Symbolic b, Symbolic c) {
        return Symbolics{c, a * b};
      });
  const Element result = three.run({std::int64_t{2}, std::int64_t{3}, std::int64_t{4}}, device);
  EXPECT_EQ(result.to_string(), "(4, 6)");
}

TEST(Program, NamesAllProgramOps) {
  const std::vector<std::string> names = program_op_names();
  EXPECT_TRUE(std::ranges::is_sorted(names));
  for (const char* name : {"read_file", "decode_image", "resize", "random_flip", "split_text"}) {
    EXPECT_TRUE(std::ranges::find(names, name) != names.end()) << name;
  }
}

}  // namespace
}  // namespace plimsoll::data::testing

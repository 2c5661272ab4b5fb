// What cannot be traced, or does not fit, is refused with a message that names the op, the value
// and the remedy.

#include <gmock/gmock.h>

#include "data/program/program_support.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string refusal(const std::function<Symbolics(Symbolics)>& function,
                    const ElementSpec& spec = labelled_paths()) {
  return message_of<InvalidArgument>([&] { trace_program(spec, function); });
}

ElementSpec picture_and_numbers() {
  return {true,
          {numbers_of(DType::u8, {kAnyExtent, kAnyExtent, 3}), numbers_of(DType::f32, {5})},
          {"image", "numbers"}};
}

TEST(ProgramErrors, LookingAtDataNamesTheOp) {
  const auto looks = [](Symbolics in) {
    const Symbolic length = strings::length(in[0]);
    return length > 3 ? Symbolics{in[0]} : Symbolics{in[1]};
  };
  EXPECT_THAT(refusal([&](Symbolics in) { return looks(in); }),
              AllOf(HasSubstr("%3 (the result of less) has no data while the function is traced"),
                    HasSubstr("a condition needs it"), HasSubstr("where()")));
  EXPECT_THAT(refusal([](Symbolics in) {
                in[1].item<std::int64_t>();
                return Symbolics{in[1]};
              }),
              HasSubstr("%1 (component \"label\" of the element) has no data"));
}

TEST(ProgramErrors, AnExtentThatIsNotKnownYetIsNotGivenOut) {
  EXPECT_THAT(refusal([](Symbolics in) { return image::crop(in[0], 0, 0, 5, in[0].dim(1) / 2); },
                      picture_and_numbers()),
              HasSubstr("u8 [?,?,3]: extent 1 is known only when an element arrives"));
  EXPECT_THAT(refusal([](Symbolics in) { return in[0] + in[0].dim(3); }, picture_and_numbers()),
              HasSubstr("has no dimension 3"));
}

TEST(ProgramErrors, DtypesDoNotMixAndNumbersMustFit) {
  EXPECT_THAT(refusal([](Symbolics in) { return in[0] + in[1]; }, picture_and_numbers()),
              HasSubstr("[add]"));
  EXPECT_THAT(refusal([](Symbolics in) { return in[0] + 1.5; }, picture_and_numbers()),
              HasSubstr("1.5 does not fit the dtype of %0 (component \"image\" of the element)"));
  EXPECT_THAT(refusal([](Symbolics in) { return in[0] * 300; }, picture_and_numbers()),
              HasSubstr("300 does not fit"));
  EXPECT_THAT(refusal([](Symbolics in) { return in[0] + 1; }), HasSubstr("use to_number first"));
  EXPECT_THAT(refusal([](Symbolics in) { return exp(in[0]); }, picture_and_numbers()),
              HasSubstr("[exp] is not defined for u8"));
}

TEST(ProgramErrors, PicturesAndStringsAreToldApart) {
  EXPECT_THAT(refusal([](Symbolics in) { return image::resize(in[0], 8, 8); }),
              HasSubstr("[resize] takes an image; use decode on the bytes first (bytes [])"));
  EXPECT_THAT(
      refusal([](Symbolics in) { return image::resize(in[1], 8, 8); }, picture_and_numbers()),
      HasSubstr("takes an image: u8 or f32 [height,width,channels] (f32 [5])"));
  EXPECT_THAT(refusal([](Symbolics in) { return image::decode(in[1]); }),
              HasSubstr("[decode_image] takes byte strings"));
  EXPECT_THAT(refusal([](Symbolics in) { return strings::lower(in[1]); }),
              HasSubstr("[lower] takes byte strings"));
  EXPECT_THAT(refusal([](Symbolics in) { return sum(in[0]); }),
              HasSubstr("[sum] does not work on byte strings"));
}

TEST(ProgramErrors, ParametersMustMakeSense) {
  const ElementSpec spec = picture_and_numbers();
  EXPECT_THAT(refusal([](Symbolics in) { return image::resize(in[0], 0, 8); }, spec),
              HasSubstr("height is 0; give 1 or more"));
  EXPECT_THAT(refusal([](Symbolics in) { return image::random_flip(in[0], 1.5); }, spec),
              HasSubstr("probability is 1.5; give one from 0 to 1"));
  EXPECT_THAT(refusal(
                  [](Symbolics in) {
                    return image::normalize(in[0], {1, 2}, {1, 1});
                  },
                  spec),
              HasSubstr("mean must be f32 with a number for each of 3 channels"));
  EXPECT_THAT(refusal(
                  [](Symbolics in) {
                    return reshape(in[1], {-1, -1});
                  },
                  spec),
              HasSubstr("at most one may be -1"));
  EXPECT_THAT(refusal(
                  [](Symbolics in) {
                    return transpose(in[1], {0, 1});
                  },
                  spec),
              HasSubstr("[transpose]"));
  EXPECT_THAT(refusal([](Symbolics in) { return sum(in[1], {.axes = {1}}); }, spec),
              HasSubstr("has no axis 1"));
  EXPECT_THAT(refusal([](Symbolics in) { return image::decode(in[0], {.channels = 5}); }),
              HasSubstr("channels is 5"));
  EXPECT_THAT(refusal([](Symbolics in) { return strings::split(in[0], ""); }),
              HasSubstr("the separator is empty"));
  EXPECT_THAT(refusal([](Symbolics in) { return strings::to_number(in[0], DType::boolean); }),
              HasSubstr("gives f64, f32 or integers, not bool"));
  EXPECT_THAT(
      refusal([](Symbolics in) { return image::crop(image::resize(in[0], 8, 8), 0, 0, 9, 9); },
              spec),
      HasSubstr("larger than the image"));
}

TEST(ProgramErrors, UnknownOpsAndMissingAttributesAreNamed) {
  ProgramBuilder builder(picture_and_numbers());
  const Symbolics in = builder.inputs();
  EXPECT_THAT(message_of<InvalidArgument>([&] { builder.call_one("resise", {in[0]}); }),
              AllOf(HasSubstr("there is no op \"resise\""), HasSubstr("resize")));
  EXPECT_THAT(message_of<InvalidArgument>([&] { builder.call_one("resize", {in[0]}); }),
              AllOf(HasSubstr("[resize]"), HasSubstr("there is no '")));
  EXPECT_THAT(message_of<InvalidArgument>([&] { builder.call_one("add", {in[1]}); }),
              HasSubstr("[add] takes 2 inputs, not 1"));
  EXPECT_THAT(message_of<InvalidArgument>([&] {
                builder.call_one("flip_up_down", {in[0], in[0]});
              }),
              HasSubstr("[flip_up_down] takes 1 inputs, not 2"));
  EXPECT_THAT(message_of<InvalidArgument>([&] { builder.call_one("dropout", {in[1]}); }),
              HasSubstr("cannot be part of a program"));
}

TEST(ProgramErrors, NamesMustBeThereAndDiffer) {
  EXPECT_THAT(refusal([](Symbolics in) { return Symbolics{in["picture"]}; }),
              HasSubstr("no component \"picture\" in the element; it has path, label"));
  EXPECT_THAT(refusal([](Symbolics in) { return Symbolics{in[2]}; }),
              HasSubstr("no component 2 in an element of 2"));
  EXPECT_THAT(refusal([](Symbolics in) {
                return Symbolics{{"a", in[0]}, {"a", in[1]}};
              }),
              HasSubstr("two components of the result are called \"a\""));
  EXPECT_THAT(refusal([](Symbolics) { return Symbolics{}; }), HasSubstr("gives no component"));
  EXPECT_THAT(message_of<InvalidArgument>(
                  [] { trace_program(labelled_paths(), [](Symbolic only) { return only; }); }),
              HasSubstr("the function takes 1 components, and elements have 2"));
}

TEST(ProgramErrors, ValuesBelongToOneProgram) {
  std::vector<Symbolic> kept;
  trace_program(labelled_paths(), [&](Symbolics in) {
    kept.push_back(in[1]);
    return in;
  });
  EXPECT_THAT(refusal([&](Symbolics in) { return in[1] + kept[0]; }),
              HasSubstr("belongs to another program"));
  EXPECT_THAT(refusal([&](Symbolics) { return Symbolics{kept[0]}; }),
              HasSubstr("belongs to another program"));
}

TEST(ProgramErrors, ElementsOfAnotherKindAreRefused) {
  const auto unknown = Dataset::range(3).map([](const Element& element) { return element; });
  EXPECT_THAT(message_of<InvalidArgument>([&] { unknown.map([](Symbolic n) { return n + 1; }); }),
              HasSubstr("give the function before it an output spec"));
  const Program program = trace_program(elements_of({TensorSpec::scalar(DType::i64)}),
                                        [](Symbolic n) { return n + 1; });
  EXPECT_THAT(message_of<InvalidArgument>([&] { Dataset::range(4).batch(2).map(program); }),
              HasSubstr("the program takes elements (i64 []), and the dataset has (i64 [2])"));
  const Device device = host();
  EXPECT_THAT(message_of<DataError>([&] { program.run({1.5F}, device); }),
              HasSubstr("the program was made for elements (i64 []), and this is (1.5)"));
  Pipeline pipeline(unknown.map(program), device);
  EXPECT_EQ(pipeline.next()->at(0).as<std::int64_t>(), 1);
}

}  // namespace
}  // namespace plimsoll::data::testing

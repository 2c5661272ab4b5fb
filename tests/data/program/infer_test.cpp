// What is known of results before an element arrives: an op's rule is asked with stand-ins for the
// extents that are not known.

#include <gmock/gmock.h>

#include "data/program/program_support.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kAny = kAnyExtent;

std::string given(std::vector<TensorSpec> inputs,
                  const std::function<Symbolics(Symbolics)>& function) {
  return trace_program(elements_of(std::move(inputs)), function).output_spec().to_string();
}

TensorSpec f32(std::vector<std::int64_t> dims) { return numbers_of(DType::f32, std::move(dims)); }

TEST(ProgramSpecs, UnknownExtentsStayUnknown) {
  EXPECT_EQ(given({f32({kAny, 3})}, [](Symbolics in) { return in[0] + 1; }), "(f32 [?,3])");
  EXPECT_EQ(given({f32({kAny, kAny, 3})},
                  [](Symbolics in) {
                    return transpose(in[0], {2, 0, 1});
                  }),
            "(f32 [3,?,?])");
  EXPECT_EQ(given({f32({kAny, 3})}, [](Symbolics in) { return mean(in[0], {.axes = {0}}); }),
            "(f32 [3])");
  EXPECT_EQ(given({f32({kAny, 3})}, [](Symbolics in) { return sum(in[0]); }), "(f32 [])");
  EXPECT_EQ(given({f32({kAny, 3})},
                  [](Symbolics in) {
                    return concat({in[0], in[0]}, 0);
                  }),
            "(f32 [?,3])");
  EXPECT_EQ(given({f32({kAny, 3})},
                  [](Symbolics in) {
                    return stack({in[0], in[0]}, 1);
                  }),
            "(f32 [?,2,3])");
  EXPECT_EQ(given({numbers_of(DType::i64, {kAny})}, [](Symbolics in) { return one_hot(in[0], 7); }),
            "(f32 [?,7])");
}

TEST(ProgramSpecs, AnExtentThatMustBeAnotherIsThat) {
  EXPECT_EQ(given({f32({kAny}), f32({224})}, [](Symbolics in) { return in[0] + in[1]; }),
            "(f32 [224])");
  EXPECT_EQ(
      given({f32({kAny, kAny}), f32({128, 10})}, [](Symbolics in) { return matmul(in[0], in[1]); }),
      "(f32 [?,10])");
  EXPECT_EQ(given({f32({kAny})},
                  [](Symbolics in) {
                    return reshape(in[0], {28, 28});
                  }),
            "(f32 [28,28])");
  EXPECT_EQ(given({f32({kAny, 3})},
                  [](Symbolics in) {
                    return reshape(in[0], {28, 28, 3});
                  }),
            "(f32 [28,28,3])");
}

TEST(ProgramSpecs, WhatIsLeftOfAReshapeIsUnknown) {
  EXPECT_EQ(given({f32({kAny, kAny, 3})},
                  [](Symbolics in) {
                    return reshape(in[0], {-1, 3});
                  }),
            "(f32 [?,3])");
  EXPECT_EQ(given({f32({kAny})},
                  [](Symbolics in) {
                    return reshape(in[0], {-1, 11});
                  }),
            "(f32 [?,11])");
  EXPECT_EQ(given({f32({6, 4})},
                  [](Symbolics in) {
                    return reshape(in[0], {-1, 3});
                  }),
            "(f32 [8,3])");
}

TEST(ProgramSpecs, SlicesCountFromTheEndOfWhatIsNotKnown) {
  EXPECT_EQ(given({f32({kAny})}, [](Symbolics in) { return slice(in[0], 0, 2); }), "(f32 [?])");
  EXPECT_EQ(given({f32({kAny})}, [](Symbolics in) { return slice(in[0], 0, -10); }), "(f32 [10])");
  EXPECT_EQ(given({f32({kAny})}, [](Symbolics in) { return slice(in[0], 0, 1, 5, 2); }),
            "(f32 [2])");
  EXPECT_EQ(given({f32({8})}, [](Symbolics in) { return slice(in[0], 0, 2, -1); }), "(f32 [5])");
}

TEST(ProgramSpecs, WithoutARankOnlyTheDtypeIsKnown) {
  const TensorSpec any{DType::u8, std::nullopt};
  EXPECT_EQ(given({any}, [](Symbolics in) { return cast(in[0], DType::f32) * 2; }), "(f32 ?)");
  EXPECT_THAT(
      message_of<InvalidArgument>([&] { given({any}, [](Symbolics in) { return sum(in[0]); }); }),
      HasSubstr("rank that is not known"));
}

TEST(ProgramSpecs, RefusesWhatNoExtentMakesRight) {
  const auto refusal = [](std::vector<TensorSpec> inputs,
                          const std::function<Symbolics(Symbolics)>& function) {
    return message_of<InvalidArgument>([&] { given(inputs, function); });
  };
  EXPECT_THAT(refusal({f32({kAny, 3}), f32({4})}, [](Symbolics in) { return in[0] + in[1]; }),
              HasSubstr("[add]"));
  EXPECT_THAT(refusal({f32({kAny, 3}), f32({4})}, [](Symbolics in) { return in[0] + in[1]; }),
              HasSubstr("f32 [?,3], f32 [4]"));
  EXPECT_THAT(
      refusal({f32({kAny, 7}), f32({5, 2})}, [](Symbolics in) { return matmul(in[0], in[1]); }),
      HasSubstr("inner extents 7 and 5 differ"));
  EXPECT_THAT(refusal({f32({kAny, 3})}, [](Symbolics in) { return slice(in[0], 1, 0, 4); }),
              HasSubstr("from 0 to 4"));
}

}  // namespace
}  // namespace plimsoll::data::testing

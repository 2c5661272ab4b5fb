#include <plimsoll/math/einsum.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/op_cases.h"
#include "support/op_checks.h"
#include "support/recorded.h"

namespace plimsoll::math {
namespace {

using test::complaint;
using test::random_tensor;
using ::testing::HasSubstr;

/// The same by plain loops over all letters: f64.
std::vector<double> by_loops(const std::string& equation, const std::vector<Tensor>& operands) {
  const std::size_t arrow = equation.find("->");
  std::vector<std::string> letters(1);
  for (const char c : equation.substr(0, arrow)) {
    if (c == ',') {
      letters.emplace_back();
    } else {
      letters.back() += c;
    }
  }
  const std::string result = equation.substr(arrow + 2);
  std::string order = result;
  std::map<char, std::int64_t> extents;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    for (std::size_t d = 0; d < letters[i].size(); ++d) {
      extents[letters[i][d]] = operands[i].dim(static_cast<int>(d));
      if (order.find(letters[i][d]) == std::string::npos) order += letters[i][d];
    }
  }
  std::vector<std::vector<double>> values;
  for (const Tensor& operand : operands) values.push_back(test::as_doubles(operand));
  std::int64_t total = 1;
  for (const char c : order) total *= extents[c];
  std::int64_t size = 1;
  for (const char c : result) size *= extents[c];
  std::vector<double> sums(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < total; ++i) {
    std::map<char, std::int64_t> at;
    std::int64_t left = i;
    for (auto c = order.rbegin(); c != order.rend(); ++c) {
      at[*c] = left % extents[*c];
      left /= extents[*c];
    }
    const auto index = [&](const std::string& of) {
      std::int64_t place = 0;
      for (const char c : of) place = place * extents[c] + at[c];
      return static_cast<std::size_t>(place);
    };
    double product = 1;
    for (std::size_t o = 0; o < operands.size(); ++o) product *= values[o][index(letters[o])];
    sums[index(result)] += product;
  }
  return sums;
}

TEST(Einsum, EqualsPlainLoops) {
  const std::map<char, std::int64_t> extents = {{'a', 2}, {'b', 3}, {'c', 4}, {'d', 1}, {'e', 5}};
  for (const std::string equation :
       {"ab,bc->ac", "ab,bc->ca", "ab,cb->abc", "abc,abe->ace", "abc,eb->ace", "ab->ba", "ab->",
        "ab->b", "a,b->ab", "a,a->", "ab,bc,ce->ae", "ab,ab,ab->a", "abd,dc->bc", "abc,b->ac",
        "ab,c->ac", "ace,abe->abc"}) {
    std::vector<Tensor> operands;
    Shape shape;
    for (const char c : equation.substr(0, equation.find("->")) + ",") {
      if (c == ',') {
        operands.push_back(random_tensor(shape, operands.size() + 1, DType::f64));
        shape = Shape();
      } else {
        shape = shape.with_inserted(shape.rank(), extents.at(c));
      }
    }
    test::expect_near(test::as_doubles(einsum(equation, operands)), by_loops(equation, operands),
                      1e-12, equation);
    test::expect_gradients([&](const nn::Tensors& in) { return nn::Tensors{einsum(equation, in)}; },
                           operands);
  }
}

TEST(Einsum, WithoutAnArrowTheRestIsInAlphabeticalOrder) {
  const Tensor a = random_tensor({2, 3}, 1);
  const Tensor b = random_tensor({3, 4}, 2);
  EXPECT_EQ(einsum("zb,bc", {a, b}).shape(), Shape({4, 2}));
  EXPECT_EQ(einsum(" ij , jk -> ik ", {a, b}).shape(), Shape({2, 4}));
}

TEST(Einsum, EqualsPyTorchsWithDotsAndDiagonals) {
  for (const auto& [name, equation] :
       std::map<std::string, std::string>{{"trace", "ii"},
                                          {"diagonal", "ii->i"},
                                          {"diagonals", "...ii->...i"},
                                          {"apart", "iji->ij"},
                                          {"thrice", "iii->i"},
                                          {"two_diagonals", "iijj->ij"},
                                          {"scaled_diagonal", "bii,i->bi"},
                                          {"batched", "...ij,...jk->...ik"},
                                          {"broadcast", "...ij,...jk->...ik"},
                                          {"of_one", "...ij,...jk->...ik"},
                                          {"without_arrow", "...ij,jk"},
                                          {"without_arrow_rest_first", "b...,...a"},
                                          {"rest_is_summed", "...ij->ij"},
                                          {"rest_is_nothing", "...ij->...ji"},
                                          {"three", "...a,...b,...ab->..."},
                                          {"none", "bii->bi"}}) {
    test::expect_recorded("einsum", name, [&, text = equation](const nn::Tensors& in) {
      return nn::Tensors{einsum(text, in)};
    });
  }
}

TEST(Einsum, MistakesAreNamed) {
  const Tensor a = random_tensor({2, 3}, 1);
  EXPECT_THAT(complaint([&] { einsum("ij,jk->ik", {a}); }),
              HasSubstr("it names 2 operands, and 1 are given"));
  EXPECT_THAT(complaint([&] {
                einsum("ij,jk->ik", {a, a});
              }),
              HasSubstr("'j' is 3 in one operand and 2 in another"));
  EXPECT_THAT(complaint([&] { einsum("ijk->i", {a}); }),
              HasSubstr("operand 0 is f32 [2,3], but \"ijk\" names 3 dimensions"));
  EXPECT_THAT(complaint([&] { einsum("ii->i", {a}); }),
              HasSubstr("'i' is 2 in one place and 3 in another"));
  EXPECT_THAT(complaint([&] { einsum("ijk...->i", {a}); }), HasSubstr("names 3 dimensions"));
  EXPECT_THAT(complaint([&] { einsum("...i...", {a}); }), HasSubstr("\"...\" is twice"));
  EXPECT_THAT(complaint([&] { einsum("i..j", {a}); }), HasSubstr("'.' is not a letter"));
  EXPECT_THAT(complaint([&] {
                einsum("i...,...j->ij...", {a, a});
              }),
              HasSubstr("a dimension of \"...\" is 3 in one operand and 2 in another"));
  EXPECT_THAT(complaint([&] { einsum("ij->k", {a}); }), HasSubstr("no operand has the 'k'"));
  EXPECT_THAT(complaint([&] { einsum("ij->ii", {a}); }), HasSubstr("the result has 'i' twice"));
  EXPECT_THAT(complaint([&] { einsum("i1->i", {a}); }), HasSubstr("'1' is not a letter"));
}

}  // namespace
}  // namespace plimsoll::math

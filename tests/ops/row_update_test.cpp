// Updates of the rows that were read have the bits of updates of the whole table.
#include <plimsoll/ops/row_update.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/row_update_checks.h"

namespace plimsoll {
namespace {

using test::as_doubles;
using test::complaint;
using test::from_doubles;
using test::same_bits;
using ::testing::HasSubstr;

const Device& host() { return test::op_cases_device(); }

TEST(RowUpdates, HaveTheBitsOfUpdatesOfTheWholeTable) {
  for (const test::RowRule& rule : test::row_rules()) {
    for (const test::RowCase& c : test::row_cases()) {
      SCOPED_TRACE(rule.op + ", " + c.name);
      const test::RowStep whole = test::row_step(c, host());
      const test::RowStep rows = test::row_step(c, host());
      for (int step = 0; step < 3; ++step) {
        rule.run(whole, false);
        rule.run(rows, true);
      }
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_TRUE(same_bits(whole.written()[i], rows.written()[i])) << i;
      }
    }
  }
}

TEST(RowUpdates, DoNotDependOnThreads) {
  const test::RowCase c{"", {2000, 64}, {}};
  for (const test::RowRule& rule : test::row_rules()) {
    EXPECT_TRUE(test::independent_of_threads([&] {
      test::RowCase drawn = c;
      drawn.ids = test::random_indices({9000}, 2000, 3).to_vector<std::int64_t>();
      const test::RowStep s = test::row_step(drawn, host());
      rule.run(s, true);
      return s.written();
    })) << rule.op;
  }
}

TEST(RowUpdates, WriteNothingWhereTheyAreNotEnabled) {
  const Tensor no = Tensor::zeros({}, DType::boolean, host());
  const test::RowCase c = test::row_cases().front();
  for (const test::RowRule& rule : test::row_rules()) {
    const test::RowStep before = test::row_step(c, host());
    const test::RowStep s = test::row_step(c, host());
    rule.run(s, true, no);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(same_bits(s.written()[i], before.written()[i])) << rule.op;
    }
  }
}

TEST(RowUpdates, RowsThatWereNotReadKeepTheirBits) {
  const test::RowCase c{"", {4, 2}, {2, 0, 2}};
  for (const test::RowRule& rule : test::row_rules()) {
    const test::RowStep before = test::row_step(c, host());
    const test::RowStep s = test::row_step(c, host());
    rule.run(s, true);
    for (const std::int64_t row : {1, 3}) {
      EXPECT_EQ(as_doubles(s.table.slice(0, row, row + 1)),
                as_doubles(before.table.slice(0, row, row + 1)))
          << rule.op;
    }
    EXPECT_NE(as_doubles(s.table.slice(0, 2, 3)), as_doubles(before.table.slice(0, 2, 3)));
  }
}

TEST(RowUpdates, NameAnIdThatIsOutside) {
  for (const std::int64_t id : {-1, 4}) {
    const test::RowCase c{"", {4, 2}, {0, id}};
    for (const test::RowRule& rule : test::row_rules()) {
      const test::RowStep s = test::row_step(c, host());
      const test::RowStep before = test::row_step(c, host());
      EXPECT_THAT(complaint([&] { rule.run(s, true); }),
                  HasSubstr(std::to_string(id) +
                            " at position 1 is outside dimension 0, which has 4 elements"));
      EXPECT_TRUE(same_bits(s.table, before.table)) << "something was written";
    }
  }
}

TEST(RowUpdates, RefuseWhatDoesNotFit) {
  const test::RowStep s = test::row_step({"", {4, 2}, {0, 3}}, host());
  const auto sgd = [&](const Tensor& table, const Tensor& ids, const Tensor& rows) {
    return complaint([&] { ops::sgd_update_rows(table, ids, rows, s.rate); });
  };
  EXPECT_THAT(sgd(s.table, s.ids, test::random_tensor({2, 3}, 1)),
              HasSubstr("the ids' shape and that of a row behind it"));
  EXPECT_THAT(sgd(s.table, s.ids, test::random_tensor({3, 2}, 1)), HasSubstr("the ids' shape"));
  EXPECT_THAT(sgd(s.table, test::random_tensor({2}, 1), s.rows),
              HasSubstr("ids must be i64 or i32"));
  EXPECT_THAT(sgd(from_doubles({1}, {}, DType::f32), s.ids, s.rows),
              HasSubstr("a scalar has no rows"));
  EXPECT_THAT(sgd(s.table, s.ids, test::random_tensor({2, 2}, 1, DType::f64)),
              HasSubstr("must be f32, f16 or bf16"));
  EXPECT_THAT(complaint([&] {
                ops::adagrad_update_rows(s.table, s.second, s.ids, s.rows, s.rate, s.step,
                                         {.weight_decay = 0.1});
              }),
              HasSubstr("weight_decay must be 0"));
}

}  // namespace
}  // namespace plimsoll

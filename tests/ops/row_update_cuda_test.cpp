// Updates of rows on a GPU: the bits of updates of the whole table there, and the CPU's numbers.
#include <gtest/gtest.h>

#include "support/on_gpu.h"
#include "support/row_update_checks.h"

namespace plimsoll {
namespace {

class RowUpdatesOnGpu : public test::OnGpu {
 protected:
  static Tensor on_host(const Tensor& t) { return t.clone(test::op_cases_device(), {}); }
};

TEST_F(RowUpdatesOnGpu, HaveTheBitsOfUpdatesOfTheWholeTable) {
  for (const test::RowRule& rule : test::row_rules()) {
    for (const test::RowCase& c : test::row_cases()) {
      SCOPED_TRACE(rule.op + ", " + c.name);
      const test::RowStep whole = test::row_step(c, gpu());
      const test::RowStep rows = test::row_step(c, gpu());
      for (int step = 0; step < 3; ++step) {
        rule.run(whole, false);
        rule.run(rows, true);
      }
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_TRUE(test::same_bits(on_host(whole.written()[i]), on_host(rows.written()[i]))) << i;
      }
    }
  }
}

TEST_F(RowUpdatesOnGpu, AreTheCpusUpToRounding) {
  for (const test::RowRule& rule : test::row_rules()) {
    for (const test::RowCase& c : test::row_cases()) {
      const test::RowStep there = test::row_step(c, gpu());
      const test::RowStep here = test::row_step(c, test::op_cases_device());
      rule.run(there, true);
      rule.run(here, true);
      for (std::size_t i = 0; i < 3; ++i) {
        test::expect_near(test::as_doubles(on_host(there.written()[i])),
                          test::as_doubles(here.written()[i]),
                          c.master == DType::f64 ? 1e-12 : 2e-6, rule.op + ", " + c.name);
      }
    }
  }
}

TEST_F(RowUpdatesOnGpu, IdsOutsideChangeNothing) {
  const test::RowCase with{"", {6, 8}, {2, -1, 3, 6, 2, 1000000}};
  for (const test::RowRule& rule : test::row_rules()) {
    const test::RowStep s = test::row_step(with, gpu());
    const test::RowStep whole = test::row_step(with, gpu());
    rule.run(s, true);
    rule.run(whole, false);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(test::same_bits(on_host(s.written()[i]), on_host(whole.written()[i]))) << rule.op;
    }
  }
}

TEST_F(RowUpdatesOnGpu, WriteNothingWhereTheyAreNotEnabled) {
  const Tensor no = Tensor::zeros({}, DType::boolean, gpu());
  const test::RowCase c = test::row_cases().front();
  for (const test::RowRule& rule : test::row_rules()) {
    const test::RowStep before = test::row_step(c, gpu());
    const test::RowStep s = test::row_step(c, gpu());
    rule.run(s, true, no);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(test::same_bits(on_host(s.written()[i]), on_host(before.written()[i])))
          << rule.op;
    }
  }
}

}  // namespace
}  // namespace plimsoll

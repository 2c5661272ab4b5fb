// Every registered op, against values recorded from NumPy, TensorFlow or PyTorch
// (tests/ops/recorded, tests/ops/cases): see check_op.
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/ops/kernel.h>
#include <plimsoll/ops/op_def.h>

#include "support/op_cases.h"
#include "support/op_suite.h"

namespace plimsoll {
namespace {

using ops::OpDef;
using test::OpCase;

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const OpDef* op : ops::all_ops()) names.emplace_back(op->name);
  return names;
}

class Op : public ::testing::TestWithParam<std::string> {};

TEST_P(Op, IsAsRecordedInEveryDtypeLayoutAndMode) {
  const OpDef& def = *ops::find_op(GetParam());
  if (def.random) GTEST_SKIP() << "draws random numbers: tested in random_test.cpp";
  test::check_op(def);
}

INSTANTIATE_TEST_SUITE_P(All, Op, ::testing::ValuesIn(op_names()),
                         [](const auto& op) { return op.param; });

TEST(Ops, HaveKernelsOnTheCpu) {
  for (const OpDef* op : ops::all_ops()) {
    EXPECT_NE(ops::kernels_of("cpu").find(*op), nullptr) << op->name;
    EXPECT_NE(op->types, nullptr) << op->name;
    EXPECT_FALSE(op->summary.empty()) << op->name;
  }
}

TEST(Ops, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const OpDef* op : ops::all_ops()) EXPECT_TRUE(names.insert(op->name).second) << op->name;
}

TEST(Ops, EveryRecordedCaseIsOfAnOp) {
  for (const OpCase& c : test::op_cases()) EXPECT_NE(ops::find_op(c.op), nullptr) << c.op;
}

}  // namespace
}  // namespace plimsoll

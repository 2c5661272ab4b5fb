// docs/precision.md says what every op does under a mixed-precision policy; this keeps it true.
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <plimsoll/ops/op_def.h>

#include "support/source_dir.h"

namespace plimsoll {
namespace {

/// A row for each class and family: "| compute | matmul | linear, matmul |".
std::string table_of_ops() {
  // Ops that follow are not listed, so that most new ones are right without a line there.
  const std::map<ops::Precision, std::string> classes = {{ops::Precision::compute, "compute"},
                                                         {ops::Precision::full, "full"},
                                                         {ops::Precision::keep, "keep"}};
  std::string table = "| class | family | ops |\n|---|---|---|\n";
  for (const auto& [precision, name] : classes) {
    std::map<std::string, std::string> families;
    for (const ops::OpDef* op : ops::all_ops()) {
      // Gradients run in the dtypes that their op ran in.
      if (op->precision != precision || op->name.ends_with("_grad")) continue;
      std::string& list = families[std::string(op->family)];
      list += fmt::format("{}{}", list.empty() ? "" : ", ", op->name);
    }
    for (const auto& [family, list] : families) {
      table += fmt::format("| {} | {} | {} |\n", name, family, list);
    }
  }
  return table;
}

TEST(PrecisionDoc, TheTableListsEveryOpThatDoesNotFollow) {
  std::ifstream file(test_source_dir() / "../docs/precision.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  const std::string begin = "keeps it true -->\n";
  const std::size_t from = page.find(begin);
  const std::size_t to = page.find("<!-- end of table -->");
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  const std::string shown = page.substr(from + begin.size(), to - from - begin.size());
  EXPECT_EQ(shown, table_of_ops()) << "put this between the two marks of docs/precision.md:\n"
                                   << table_of_ops();
}

}  // namespace
}  // namespace plimsoll

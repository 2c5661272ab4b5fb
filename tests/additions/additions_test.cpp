// What it takes to add something, counted: the files of tests/additions/<what>, which lie there as
// they would lie in the root, are all that somebody would write. docs/write-*.md shows them.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/ops/op_def.h>

#include "support/op_suite.h"
#include "support/source_dir.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const fs::path kTests = test_source_dir();

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> files_of(const std::string& what) {
  const fs::path root = kTests / "additions" / what;
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), root).string());
  }
  std::ranges::sort(files);
  return files;
}

/// The guide has each file as it is, behind its name.
void expect_shown(const std::string& what, const std::string& page) {
  const std::string guide = text_of(kTests.parent_path() / "docs" / page);
  for (const std::string& file : files_of(what)) {
    EXPECT_THAT(guide, HasSubstr("`" + file + "`")) << page;
    EXPECT_THAT(guide, HasSubstr("```cpp\n" + text_of(kTests / "additions" / what / file) + "```"))
        << file << " is not in docs/" << page << " as it is";
  }
}

TEST(Adding, AnOpTakesFourFiles) {
  EXPECT_THAT(files_of("op"),
              ElementsAre("include/plimsoll/ops/softshrink.h", "src/backend/shared/softshrink.h",
                          "src/ops/softshrink.cpp", "tests/ops/cases/softshrink.cpp"));
  expect_shown("op", "write-an-op.md");
}

TEST(Adding, AnOpIsTestedByItsCasesAlone) {
  for (const char* name : {"softshrink", "softshrink_grad"}) {
    const ops::OpDef* def = ops::find_op(name);
    ASSERT_NE(def, nullptr) << name;
    test::check_op(*def);
  }
}

TEST(Adding, AStageTakesTwoFilesAndATest) {
  EXPECT_THAT(files_of("stage"),
              ElementsAre("include/plimsoll/data/every.h", "src/data/stages/every.cpp",
                          "tests/data/every_test.cpp"));
  expect_shown("stage", "write-a-stage.md");
}

TEST(Adding, ABackendTakesAFolderAndATest) {
  EXPECT_THAT(files_of("backend"),
              ElementsAre("src/backend/twin/backend.cpp", "tests/backend/twin_test.cpp"));
  expect_shown("backend", "write-a-backend.md");
}

}  // namespace
}  // namespace plimsoll

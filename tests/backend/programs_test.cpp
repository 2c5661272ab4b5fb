// Programs of pointwise groups: NVRTC compiles them without a GPU, and the cache on disk keeps
// them. Compiled only where the CUDA backend is built.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/pointwise.h>
#include <plimsoll/plan/planner.h>

#include "backend/cuda/programs/cubin_cache.h"
#include "backend/cuda/programs/nvrtc.h"
#include "plan/pointwise_groups.h"
#include "support/random_pointwise.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

const cuda::Nvrtc* nvrtc(std::string* why) {
  return cuda::Nvrtc::load(PLIMSOLL_CUDA_MAJOR, PLIMSOLL_CUDA_MINOR, why);
}

class Programs : public ::testing::Test {
 protected:
  /// Everything that is fused in a plan of this graph, as one program.
  static ops::PointwiseProgramText program_of(const std::shared_ptr<const graph::Graph>& graph) {
    plan::Planner planner(graph, {.device = plan::describe_device("h200")});
    const plan::Plan plan = planner.largest();
    std::vector<ops::PointwiseKernel> kernels;
    for (const plan::PointwiseTasks& tasks : plan::pointwise_groups(plan, {})) {
      kernels.push_back(ops::pointwise_kernel(tasks.group));
    }
    return ops::pointwise_program(kernels);
  }
};

TEST_F(Programs, OfRandomGroupsCompile) {
  std::string why;
  const cuda::Nvrtc* compiler = nvrtc(&why);
  if (compiler == nullptr) GTEST_SKIP() << why;
  for (std::uint64_t seed = 1000; seed < 1008; ++seed) {
    const DType dtype = std::array{DType::f32, DType::bf16, DType::f16, DType::f64}[seed % 4];
    const test::RandomPointwise random(seed, seed % 2 == 0 ? Shape{64, 33} : Shape{4, 6, 64}, dtype,
                                       30);
    const auto program = program_of(random.graph);
    ASSERT_FALSE(program.functions.empty());
    SCOPED_TRACE(program.text);
    const std::string cubin = compiler->compile(program.text, cuda::rtc_headers(), "sm_90");
    EXPECT_TRUE(
        cubin.starts_with("\x7f"
                          "ELF"));
    for (const std::string& name : program.functions) {
      EXPECT_NE(cubin.find(name), std::string::npos) << name;
    }
    // Line information.
    EXPECT_NE(cubin.find(".debug_line"), std::string::npos);
  }
}

TEST_F(Programs, AMistakeIsToldInTheCompilersWords) {
  std::string why;
  const cuda::Nvrtc* compiler = nvrtc(&why);
  if (compiler == nullptr) GTEST_SKIP() << why;
  try {
    (void)compiler->compile("this is no program", {}, "sm_90");
    FAIL() << "it compiled";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("pointwise.cu(1)"), std::string::npos) << error.what();
  }
}

class Cache : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("plimsoll-cubins-" + std::to_string(static_cast<long>(::getpid())));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  cuda::CubinCache cache() const { return cuda::CubinCache(folder_.string()); }

  fs::path folder_;
};

TEST_F(Cache, GivesWhatWasKept) {
  EXPECT_EQ(cache().find("a"), std::nullopt);
  cache().keep("a", std::string("co\0de", 5));
  EXPECT_EQ(cache().find("a"), std::string("co\0de", 5));
  EXPECT_EQ(cache().find("b"), std::nullopt);
  cache().keep("a", "newer");
  EXPECT_EQ(cache().find("a"), "newer");
  // Nothing but the one file is left behind.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(Cache, IgnoresDamagedFilesWhereverTheDamageIs) {
  const std::string key(100, 'k');
  cache().keep(key, std::string(200, 'c'));
  const fs::path path = cache().path_of(key);
  std::string whole;
  {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    whole = text.str();
  }
  const auto write = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  };
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    write(damaged);
    EXPECT_EQ(cache().find(key), std::nullopt) << "byte " << i;
    write(whole.substr(0, i));
    EXPECT_EQ(cache().find(key), std::nullopt) << "cut at " << i;
  }
  write(whole + "more");
  EXPECT_EQ(cache().find(key), std::nullopt);
  write(whole);
  EXPECT_TRUE(cache().find(key).has_value());
}

TEST_F(Cache, AnotherKeysFileUnderThisNameIsIgnored) {
  cache().keep("one", "code");
  fs::rename(cache().path_of("one"), cache().path_of("two"));
  EXPECT_EQ(cache().find("two"), std::nullopt);
}

TEST_F(Cache, AFolderThatCannotBeMadeIsNoFailure) {
  std::ofstream(folder_.string()) << "a file";
  cache().keep("a", "code");
  EXPECT_EQ(cache().find("a"), std::nullopt);
  fs::remove(folder_);
  const cuda::CubinCache none("");
  none.keep("a", "code");
  EXPECT_EQ(none.find("a"), std::nullopt);
}

TEST_F(Cache, LiesWhereTheEnvironmentSays) {
  const auto folder = [](const char* own, const char* shared) {
    own == nullptr ? ::unsetenv("PLIMSOLL_CACHE") : ::setenv("PLIMSOLL_CACHE", own, 1);
    shared == nullptr ? ::unsetenv("XDG_CACHE_HOME") : ::setenv("XDG_CACHE_HOME", shared, 1);
    return cuda::CubinCache::default_folder();
  };
  EXPECT_EQ(folder("/own", "/shared"), "/own/kernels");
  EXPECT_EQ(folder("off", "/shared"), "");
  EXPECT_EQ(folder(nullptr, "/shared"), "/shared/plimsoll/kernels");
  ::setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(folder(nullptr, nullptr), "/home/somebody/.cache/plimsoll/kernels");
}

}  // namespace
}  // namespace plimsoll

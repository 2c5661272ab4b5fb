#include <gmock/gmock.h>

#include "data/npy_mutation.h"
#include "data/words.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<std::string> words(const Dataset& dataset, const PipelineOptions& options = {}) {
  const Device device = host();
  Pipeline pipeline(dataset, device, options);
  std::vector<std::string> result;
  while (const auto element = pipeline.next()) result.push_back(words_of(*element));
  return result;
}

std::string npy_refusal(const std::vector<std::string>& paths) {
  try {
    Dataset::from_npy(paths);
    return "accepted";
  } catch (const DataError& error) {
    return error.what();
  }
}

TEST(Npy, ReadsWhatNumPySavedOrRefusesItByName) {
  std::ifstream file(npy_folder().parent_path() / "npy.json");
  const auto recorded = nlohmann::json::parse(file);
  for (const auto& [name, expected] : recorded.items()) {
    SCOPED_TRACE(name);
    const std::string path = npy_folder() / (name + ".npy");
    if (expected.contains("refused")) {
      EXPECT_THAT(npy_refusal({path}), HasSubstr("[from_npy] " + path));
      EXPECT_THAT(npy_refusal({path}), HasSubstr(expected["refused"].get<std::string>()));
      continue;
    }
    const Dataset dataset = Dataset::from_npy(path);
    const auto out = expected["out"].get<std::vector<std::string>>();
    EXPECT_EQ(words(dataset), out);
    EXPECT_EQ(dataset.cardinality(), static_cast<std::int64_t>(out.size()));
    auto shuffled = words(dataset.shuffle({}));
    auto sorted = out;
    std::sort(sorted.begin(), sorted.end());
    std::sort(shuffled.begin(), shuffled.end());
    EXPECT_EQ(shuffled, sorted) << "by index";
  }
}

TEST(Npy, FilesFollowOneAnotherAndMustAgree) {
  const auto path = [](const char* name) { return (npy_folder() / name).string(); };
  const Dataset both =
      Dataset::from_npy({path("i8_flat.npy"), path("one.npy"), path("i8_flat.npy")});
  EXPECT_THAT(numbers(both), ElementsAre(0, 1, 2, 0, 1, 1, 0, 1, 2, 0, 1));
  EXPECT_EQ(words(Dataset::from_npy({path("f4_little.npy"), path("f4_big.npy")})).size(), 8U)
      << "byte orders may differ";
  EXPECT_THAT(npy_refusal({path("i8_flat.npy"), path("i4_flat.npy")}),
              HasSubstr("i4_flat.npy is i32 [5]; slices must have one dtype and shape"));
  EXPECT_THAT(npy_refusal({path("i8_flat.npy"), path("i8_little.npy")}), HasSubstr("i64 [4,3,2]"));
  EXPECT_THAT(npy_refusal({path("i8_flat.npy"), path("none.npy")}),
              HasSubstr("none.npy: cannot be"));
  EXPECT_THAT(npy_refusal({npy_folder()}), HasSubstr("npy"));
  EXPECT_THROW(Dataset::from_npy(std::vector<std::string>{}), InvalidArgument);
}

TEST(Npy, FeaturesAndLabelsAreShuffledTogether) {
  const Dataset set = Dataset::zip({Dataset::from_npy((npy_folder() / "i2_little.npy").string()),
                                    Dataset::from_npy((npy_folder() / "i2_big.npy").string())});
  const auto in_order = words(set);
  const auto shuffled = words(set.shuffle({}).repeat(3), {.seed = 4});
  ASSERT_THAT(shuffled, SizeIs(12));
  for (const std::string& each : shuffled) EXPECT_THAT(in_order, ::testing::Contains(each));
  EXPECT_EQ(set.shuffle({}).element_spec().to_string(), "(0/0 i16 [3,2], 1/0 i16 [3,2])");
}

TEST(Npy, ManySmallSlicesCrossTheBuffer) {
  const TemporaryFolder folder;
  const std::int64_t count = 50'000;
  std::string data(static_cast<std::size_t>(count) * 12, '\0');
  for (std::int64_t i = 0; i < count * 3; ++i) {
    const auto value = static_cast<std::int32_t>(i);
    std::memcpy(data.data() + i * 4, &value, 4);
  }
  folder.write("a.npy",
               npy_text("{'descr': '<i4', 'fortran_order': False, 'shape': (50000, 3), }", data));
  const Dataset set = Dataset::from_npy(folder.path() / "a.npy");
  const Device device = host();
  Pipeline pipeline(set.batch(7), device, {.limit = MiB(1)});
  std::int32_t next = 0;
  for (int taken = 0; const auto batch = pipeline.next(); ++taken) {
    for (const std::int32_t value : batch->at(0).tensor().to_vector<std::int32_t>()) {
      ASSERT_EQ(value, next++);
    }
    if (taken % 1000 == 500) pipeline.restore(pipeline.save());
  }
  EXPECT_EQ(next, count * 3);
  EXPECT_LE(pipeline.budget().peak(), MiB(1));
}

TEST(Npy, AHeaderThatPromisesMoreThanTheFileHasIsRefused) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& shape, const std::string& descr = "<f4") {
    folder.write("a.npy", npy_text("{'descr': '" + descr +
                                       "', 'fortran_order': False, 'shape': " + shape + "}",
                                   std::string(64, 'x')));
    return npy_refusal({folder.path() / "a.npy"});
  };
  EXPECT_EQ(refused("(4, 4)"), "accepted");
  EXPECT_EQ(refused("(2L, 2L)"), "accepted") << "as Python 2 wrote it";
  EXPECT_THAT(refused("(4, 5)"), HasSubstr("has 80 bytes, and 64 are there"));
  EXPECT_THAT(refused("(4611686018427387904, 4)"), HasSubstr("63 bits"));
  EXPECT_THAT(refused("(0, 4611686018427387904, 4)"), HasSubstr("63 bits"));
  EXPECT_THAT(refused("(99999999999999999999,)"), HasSubstr("63 bits"));
  EXPECT_THAT(refused("(-1,)"), HasSubstr("where a number belongs"));
  EXPECT_THAT(refused("(4,)", "S0"), HasSubstr("'S0'"));
  EXPECT_THAT(refused("(4,)", "<f16"), HasSubstr("'<f16'"));
  EXPECT_THAT(refused("(4,), 'shape': (3,)"), HasSubstr("there twice"));
  folder.write("a.npy", "PK");
  EXPECT_THAT(npy_refusal({folder.path() / "a.npy"}), HasSubstr("not an .npy file"));
}

TEST(Npy, AFileCutOffLaterIsAnErrorOfItsSlices) {
  const TemporaryFolder folder;
  const std::string text = npy_text("{'descr': '|u1', 'fortran_order': False, 'shape': (4, 9000)}",
                                    std::string(36'000, 'x'));
  folder.write("a.npy", text);
  const Device device = host();
  const Dataset set = Dataset::from_npy(folder.path() / "a.npy");
  folder.write("a.npy", text.substr(0, 20'000));
  Pipeline pipeline(set, device, {});
  const auto stream = rest_of(pipeline);
  ASSERT_THAT(stream, SizeIs(4));
  EXPECT_THAT(stream[1], ::testing::Not(HasSubstr("error")));
  EXPECT_THAT(stream[2], HasSubstr("a.npy: cut off"));
  Pipeline lenient(set, device, {.skip_errors = 2});
  EXPECT_THAT(rest_of(lenient), SizeIs(2));
  Pipeline whole(set.take(4).shuffle(), device, {.skip_errors = 2});
  EXPECT_THAT(rest_of(whole), SizeIs(2));
}

TEST(Npy, BooleansAreZeroOrOne) {
  const TemporaryFolder folder;
  folder.write("a.npy", npy_text("{'descr': '|b1', 'fortran_order': False, 'shape': (2, 2)}",
                                 std::string("\x00\x07\x80\x01", 4)));
  EXPECT_THAT(words(Dataset::from_npy(folder.path() / "a.npy")),
              ElementsAre("bool[2] false true", "bool[2] true true"));
}

TEST(Npy, DamagedFilesEndInDataErrorOrElements) { EXPECT_EQ(fuzz_npy(1'000, 20'240'802), ""); }

}  // namespace
}  // namespace plimsoll::data::testing

// TFRecord files: what TensorFlow wrote is read, what we write is the same bytes, and what is
// broken is named with its file and offset.

#include <gmock/gmock.h>

#include <plimsoll/data/record_writer.h>

#include "data/record_support.h"
#include "data/records/crc32c.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::HasSubstr;

Features example_features() {
  return {{"image", DType::bytes},
          {"label", DType::i64},
          {"floats", DType::f32, {3}},
          {"tokens", DType::i64, {kAnyExtent}},
          {"texts", DType::bytes, {kAnyExtent}}};
}

nlohmann::json example_rows() {
  return only(recorded_json("tfrecord.json"), {"image", "label", "floats", "tokens", "texts"});
}

TEST(Crc32c, HardwareAndTablesAgreeWithTheStandard) {
  EXPECT_EQ(crc32c("123456789", 9), 0xE3069283U);
  EXPECT_EQ(crc32c_tables("123456789", 9), 0xE3069283U);
  std::string text;
  for (int i = 0; i < 20'000; ++i) text.push_back(static_cast<char>(i * 7 + i / 251));
  for (const std::size_t size :
       {0, 1, 7, 8, 9, 2303, 2304, 2305, 4415, 4416, 4417, 6144, 8832, 8840, 9999, 20'000}) {
    EXPECT_EQ(crc32c(text.data(), size), crc32c_tables(text.data(), size)) << size;
    const std::uint32_t half = crc32c(text.data(), size / 2);
    EXPECT_EQ(crc32c(text.data() + size / 2, size - size / 2, half), crc32c(text.data(), size));
  }
}

TEST(TfRecord, ReadsWhatTensorFlowWrote) {
  for (const char* name :
       {"examples.tfrecord", "examples.gzip.tfrecord", "examples.zlib.tfrecord"}) {
    SCOPED_TRACE(name);
    const Dataset set = Dataset::tfrecords(recorded(name), example_features());
    EXPECT_EQ(set.cardinality(), 20);
    EXPECT_EQ(json_rows(set), example_rows());
    EXPECT_EQ(json_rows(set, {.limit = KiB(400)}), example_rows()) << "without a buffer";
    EXPECT_EQ(json_rows(Dataset::tfrecords(recorded(name))),
              only(recorded_json("tfrecord.json"), {"record"}));
  }
}

TEST(TfRecord, InfersTheFeatures) {
  const Features found = tfrecord_features(recorded("examples.gzip.tfrecord"));
  std::string text;
  for (const Feature& each : found) text += each.name + " " + each.spec.to_string() + "; ";
  EXPECT_EQ(text,
            "floats f32 [3]; image bytes []; label i64 []; texts bytes [?]; tokens i64 [?]; ");
}

TEST(TfRecord, WritesTheBytesThatTensorFlowWrites) {
  const TemporaryFolder folder;
  const Device device = host();
  const Dataset set = Dataset::tfrecords(recorded("examples.tfrecord"));
  const WrittenRecords written = write_records(set, folder.path(), device, {});
  EXPECT_EQ(written.records, 20);
  ASSERT_EQ(written.files.size(), 1U);
  EXPECT_EQ(bytes_of(written.files[0]), bytes_of(recorded("examples.tfrecord")));
  // Parsed and put together again, too, but for the features without values, which TensorFlow's
  // file has and the elements do not tell from missing ones.
  Features features = example_features();
  features.erase(features.begin() + 3, features.end());
  const Dataset parsed = Dataset::tfrecords(recorded("examples.tfrecord"), features);
  for (const Compression compression : {Compression::none, Compression::gzip, Compression::zlib}) {
    const auto again = write_records(parsed, folder.path() / "again", device,
                                     {.shards = 3, .compression = compression});
    EXPECT_EQ(again.files.size(), 3U);
    const Dataset read = Dataset::tfrecords(
        (folder.path() / "again/shard-{00000..00002}.tfrecord").string(), features);
    EXPECT_EQ(json_rows(read), json_rows(parsed));
  }
}

TEST(TfRecord, ShufflesShardsAndResumesByIndex) {
  const TemporaryFolder folder;
  const Device device = host();
  MapFunction name;
  name.output = ElementSpec{true, {TensorSpec::scalar(DType::i64)}, {"n"}};
  name.run = [](const Element& element, MapContext&) { return element; };
  write_records(Dataset::range(1000).map(name), folder.path(), device, {.shards = 64});
  const Dataset set =
      Dataset::tfrecords((folder.path() / "*.tfrecord").string(), {{"n", DType::i64}});
  ASSERT_EQ(set.cardinality(), 1000);
  std::vector<std::int64_t> expected(1000);
  for (std::size_t i = 0; i < 1000; ++i) expected[i] = static_cast<std::int64_t>(i);
  EXPECT_EQ(numbers(set), expected);
  auto shuffled = numbers(set.shuffle(), {.seed = 3});
  EXPECT_NE(shuffled, expected);
  // The same stream with any number of threads and any budget.
  const Dataset stream = set.shuffle().map(plus(1), {.parallel = kAutotune}).batch(7).prefetch();
  std::vector<std::string> first;
  for (const int threads : {1, 16}) {
    for (const Bytes limit : {KiB(512), MiB(1), MiB(16)}) {
      const auto here = run(stream, {.limit = limit, .threads = threads, .seed = 5});
      if (first.empty()) first = here;
      EXPECT_EQ(here, first) << threads << " threads, " << limit;
    }
  }
  // Shards are a partition.
  std::vector<std::int64_t> all;
  for (int i = 0; i < 7; ++i) {
    const auto part =
        numbers(set.shuffle({.seed = 1, .reshuffle_each_iteration = false}).shard(7, i));
    all.insert(all.end(), part.begin(), part.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, expected);
  // Saved and restored at 100 places.
  Pipeline whole(set.shuffle().repeat(2), device, {.seed = 9});
  const auto stream_all = rest_of(whole);
  Pipeline saving(set.shuffle().repeat(2), device, {.seed = 9});
  int places = 0;
  for (std::size_t at = 0; at < stream_all.size(); ++at) {
    if (at % 20 == 7) {
      Pipeline restored(set.shuffle().repeat(2), device, {.threads = 3, .seed = 9});
      restored.restore(saving.save());
      EXPECT_EQ(rest_of(restored),
                std::vector<std::string>(stream_all.begin() + static_cast<std::ptrdiff_t>(at),
                                         stream_all.end()));
      ++places;
    }
    saving.next();
  }
  EXPECT_EQ(places, 100);
}

TEST(TfRecord, ASetOf64ShardsIsShuffledUniformly) {
  const TemporaryFolder folder;
  const Device device = host();
  MapFunction name;
  name.output = ElementSpec{true, {TensorSpec::scalar(DType::i64)}, {"n"}};
  name.run = [](const Element& element, MapContext&) { return element; };
  constexpr std::int64_t kCount = 640;
  write_records(Dataset::range(kCount).map(name), folder.path(), device, {.shards = 64});
  const Dataset set =
      Dataset::tfrecords((folder.path() / "*.tfrecord").string(), {{"n", DType::i64}});
  // Which of 16 parts of the set goes to which of 16 parts of the epoch.
  constexpr int kParts = 16;
  constexpr int kEpochs = 200;
  std::vector<double> seen(kParts * kParts);
  Pipeline pipeline(set.shuffle(), device, {.seed = 11});
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    if (epoch > 0) pipeline.rewind();
    for (std::int64_t at = 0; const auto element = pipeline.next(); ++at) {
      const auto from = number(*element) * kParts / kCount;
      seen[static_cast<std::size_t>(from * kParts + at * kParts / kCount)] += 1;
    }
  }
  const double each = static_cast<double>(kCount) * kEpochs / (kParts * kParts);
  double chi = 0;
  for (const double count : seen) chi += (count - each) * (count - each) / each;
  // 225 degrees of freedom: 99.9% lie below 296.
  EXPECT_LT(chi, 296);
  EXPECT_GT(chi, 160);
}

TEST(TfRecord, AnIndexIsBuiltOnceAndAgainWhenTheFileChanges) {
  const TemporaryFolder folder;
  const std::string file = bytes_of(recorded("examples.tfrecord"));
  folder.write("a.tfrecord", file);
  const std::string path = folder.path() / "a.tfrecord";
  const auto index = folder.path() / ".a.tfrecord.plimsoll-index";
  const RecordOptions always{.index_from = 0};
  EXPECT_EQ(Dataset::tfrecords(path).cardinality(), 20);
  EXPECT_FALSE(std::filesystem::exists(index)) << "small files need none";
  EXPECT_EQ(Dataset::tfrecords(path, {}, always).cardinality(), 20);
  ASSERT_TRUE(std::filesystem::exists(index));
  const auto written = std::filesystem::last_write_time(index);
  EXPECT_EQ(Dataset::tfrecords(path, {}, always).cardinality(), 20);
  EXPECT_EQ(std::filesystem::last_write_time(index), written);
  // Damaged: built again.
  std::string bytes = bytes_of(index);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  std::ofstream(index, std::ios::binary) << bytes;
  EXPECT_EQ(Dataset::tfrecords(path, {}, always).cardinality(), 20);
  EXPECT_EQ(json_rows(Dataset::tfrecords(path, example_features(), always)), example_rows());
  // Another file of that name.
  folder.write("a.tfrecord", file + file);
  EXPECT_EQ(Dataset::tfrecords(path, {}, always).cardinality(), 40);
  // In a folder of its own.
  EXPECT_EQ(Dataset::tfrecords(path, {}, {.index_folder = folder.path() / "cache", .index_from = 0})
                .cardinality(),
            40);
  EXPECT_FALSE(std::filesystem::is_empty(folder.path() / "cache"));
}

TEST(TfRecord, BrokenRecordsAreNamedWithFileAndOffset) {
  const TemporaryFolder folder;
  const std::string file = bytes_of(recorded("examples.tfrecord"));
  const auto stream = [&](const std::string& bytes, std::int64_t skip = 0) {
    folder.write("a.tfrecord", bytes);
    return run(Dataset::tfrecords((folder.path() / "a.tfrecord").string(), {{"label", DType::i64}}),
               {.skip_errors = skip});
  };
  std::string flipped = file;
  flipped[20] = static_cast<char>(flipped[20] ^ 1);
  auto out = stream(flipped);
  ASSERT_EQ(out.size(), 20U);
  EXPECT_THAT(out[0], HasSubstr("a.tfrecord: record 0 at offset 0: its contents do not match"));
  EXPECT_EQ(stream(flipped, 1).size(), 19U);
  std::string length = file;
  length[0] = static_cast<char>(length[0] ^ 1);
  out = stream(length);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_THAT(out[0], HasSubstr("record 0 at offset 0: its length does not match"));
  out = stream(file.substr(0, file.size() - 1));
  ASSERT_EQ(out.size(), 20U);
  EXPECT_THAT(out[19], HasSubstr("and the file ends before"));
  EXPECT_TRUE(stream("").empty());
  // Compressed ones, too.
  const std::string gzip = bytes_of(recorded("examples.gzip.tfrecord"));
  out = stream(gzip.substr(0, gzip.size() / 2));
  EXPECT_GT(out.size(), 5U);
  EXPECT_THAT(out.back(), HasSubstr("of the compressed file: cut off"));
}

TEST(TfRecord, FeaturesThatDoNotFitAreErrorsThatNameThem) {
  const auto first = [](const Feature& feature) {
    return run(Dataset::tfrecords(recorded("examples.tfrecord"), {feature})).at(0);
  };
  EXPECT_THAT(first({"none", DType::i64}), HasSubstr("feature \"none\" is missing; give a value"));
  EXPECT_EQ(first({"none", DType::i64, {}, Value(std::int64_t{7})}), "(7)");
  EXPECT_THAT(first({"label", DType::f32}),
              HasSubstr("feature \"label\" has integers, and f32 []"));
  EXPECT_THAT(first({"floats", DType::f32, {2}}), HasSubstr("has 3 values, and f32 [2] has 2"));
  EXPECT_THAT(first({"floats", DType::f32, {kAnyExtent, 2}}), HasSubstr("make no whole f32 [?,2]"));
  EXPECT_THAT(message_of([] {
                Dataset::tfrecords(recorded("examples.tfrecord"), {{"label", DType::u8}});
              }),
              HasSubstr("\"label\" is u8; an Example has i64, f32 and bytes"));
  EXPECT_THAT(
      message_of([] {
        Dataset::tfrecords(recorded("examples.tfrecord"), {{"a", DType::i64}, {"a", DType::i64}});
      }),
      HasSubstr("\"a\" is there twice"));
}

TEST(TfRecord, ARecordLargerThanTheBudgetIsNamed) {
  const TemporaryFolder folder;
  const Device device = host();
  const Dataset large = Dataset::from_tensor_slices(
      {Tensor::from_strings({std::string_view(std::string(3'000'000, 'x')), "small"}, {2}, device)},
      {"record"});
  write_records(large, folder.path(), device, {});
  const Dataset set = Dataset::tfrecords((folder.path() / "*.tfrecord").string());
  const auto out = run(set, {.limit = MiB(2)});
  ASSERT_EQ(out.size(), 2U);
  EXPECT_THAT(out[0], HasSubstr("record 0 at offset 0: it takes 2.9 MiB, and the pipeline has 2"));
  EXPECT_EQ(out[1], "'small'");
}

TEST(Shards, AreNamesGlobsAndBraces) {
  const TemporaryFolder folder;
  for (const char* name : {"a-0.x", "a-1.x", "b-2.x", "c{1}.x"}) folder.write(name, "");
  const auto names = [&](const std::string& pattern) {
    std::string text;
    for (const std::string& file : Shards((folder.path() / pattern).string()).files()) {
      text += file.substr(folder.path().string().size() + 1) + " ";
    }
    return text;
  };
  EXPECT_EQ(names("a-*.x"), "a-0.x a-1.x ");
  EXPECT_EQ(names("{b,a}-*.x"), "b-2.x a-0.x a-1.x ");
  EXPECT_EQ(names("q{08..11}.x"), "q08.x q09.x q10.x q11.x ");
  EXPECT_EQ(names("q{8..11}{a,b}"), "q8a q8b q9a q9b q10a q10b q11a q11b ");
  EXPECT_EQ(names("c{1}.x"), "c{1}.x ");
  EXPECT_THAT(message_of([&] { names("z*"); }), HasSubstr("no file matches"));
}

}  // namespace
}  // namespace plimsoll::data::testing

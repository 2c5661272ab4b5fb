// Batches of Examples whose rows the source writes itself are those of elements made one by one.

#include <gmock/gmock.h>

#include <plimsoll/data/record_writer.h>
#include <plimsoll/memory/out_of_memory.h>

#include "data/record_support.h"
#include "data/records/tfrecord.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::HasSubstr;

/// A map that changes nothing, after which no rows are written in place.
Dataset one_by_one(const Dataset& dataset) {
  MapFunction same;
  same.name = "same";
  same.output = dataset.element_spec();
  same.run = [](const Element& element, MapContext&) { return element; };
  return dataset.map(same);
}

/// 50 Examples: a number, five floats, two byte strings, one of them large in every eleventh.
Dataset examples(const TemporaryFolder& folder, const WriteOptions& options = {.shards = 3}) {
  const Device device = host();
  MapFunction make;
  make.name = "make";
  make.output = ElementSpec{true,
                            {TensorSpec::scalar(DType::i64), TensorSpec::of(DType::f32, {5}),
                             TensorSpec::scalar(DType::bytes), TensorSpec::scalar(DType::bytes)},
                            {"n", "x", "short", "long"}};
  make.run = [](const Element& element, MapContext& context) {
    const auto n = number(element);
    Tensor x = context.output(1);
    for (int i = 0; i < 5; ++i) x.mutable_data<float>()[i] = static_cast<float>(n * 10 + i);
    const auto size = static_cast<std::size_t>(n % 11 == 3 ? 20'000 + n : n % 5);
    return Element{n * 1'000'003 - 5, x, context.text(std::to_string(n)),
                   context.text(std::string(size, static_cast<char>('a' + n % 26)))};
  };
  write_records(Dataset::range(50).map(make), folder.path(), device, options);
  return Dataset::tfrecords(
      (folder.path() / "*.tfrecord").string(),
      {{"long", DType::bytes},
       {"n", DType::i64},
       {"x", DType::f32, {5}},
       {"absent", DType::f32, {2}, Value(2.5F)},
       {"none", DType::bytes, {}, Value(Tensor::from_strings({"-"}, {}, device))},
       {"short", DType::bytes}});
}

TEST(RecordRows, BatchesAreThoseOfElements) {
  const TemporaryFolder folder;
  for (const Compression compression : {Compression::none, Compression::gzip}) {
    const Dataset set = examples(folder, {.shards = 3, .compression = compression});
    for (const std::int64_t size : {1, 7, 16, 50, 64}) {
      for (const bool drop : {false, true}) {
        EXPECT_EQ(run(set.batch(size, {.drop_remainder = drop}).prefetch()),
                  run(one_by_one(set).batch(size, {.drop_remainder = drop})))
            << size;
      }
    }
  }
}

TEST(RecordRows, TheStreamIsTheSameWithAnyThreadsAndBudget) {
  const TemporaryFolder folder;
  const Dataset set = examples(folder);
  const auto expected = run(one_by_one(set).batch(8));
  for (const int threads : {1, 16}) {
    for (const Bytes limit : {KiB(640), MiB(1), MiB(32)}) {
      const Device device = host();
      Pipeline pipeline(set.batch(8).prefetch(), device, {.limit = limit, .threads = threads});
      EXPECT_EQ(rest_of(pipeline), expected) << threads << " threads, " << limit;
      EXPECT_LE(pipeline.budget().peak(), limit);
    }
  }
}

TEST(RecordRows, AreSavedAndRestoredAtEveryPlace) {
  const TemporaryFolder folder;
  const Dataset set = examples(folder).batch(4).repeat(2).prefetch();
  const Device device = host();
  Pipeline whole(set, device);
  const auto all = rest_of(whole);
  Pipeline saving(set, device);
  for (std::size_t at = 0; at < all.size(); ++at) {
    Pipeline restored(set, device, {.threads = 3});
    restored.restore(saving.save());
    EXPECT_EQ(rest_of(restored),
              std::vector<std::string>(all.begin() + static_cast<std::ptrdiff_t>(at), all.end()));
    saving.next();
  }
}

TEST(RecordRows, AreSavedAndRestoredInTheMiddleOfABatchThatHadAnError) {
  const TemporaryFolder folder;
  std::string file = bytes_of(recorded("examples.tfrecord"));
  for (const std::size_t at : {std::size_t{20}, file.size() / 2}) file[at] ^= 1;
  folder.write("a.tfrecord", file);
  const Features features = {{"label", DType::i64, {}, Value(std::int64_t{-1})},
                             {"image", DType::bytes}};
  const Dataset set = Dataset::tfrecords((folder.path() / "a.tfrecord").string(), features);
  const auto expected = run(one_by_one(set).batch(3));
  EXPECT_THAT(expected.at(0), HasSubstr("record 0 at offset 0: its contents do not match"));
  EXPECT_EQ(run(set.batch(3)), expected);
  EXPECT_EQ(run(set.batch(3), {.skip_errors = 9}),
            run(one_by_one(set).batch(3), {.skip_errors = 9}));
  const Device device = host();
  Pipeline saving(set.batch(3), device);
  for (std::size_t at = 0; at < expected.size(); ++at) {
    Pipeline restored(set.batch(3), device);
    restored.restore(saving.save());
    EXPECT_EQ(rest_of(restored),
              std::vector<std::string>(expected.begin() + static_cast<std::ptrdiff_t>(at),
                                       expected.end()))
        << at;
    rest_of(saving, 1);
  }
}

TEST(RecordRows, FeaturesThatDoNotFitAreTheSameErrors) {
  for (const Feature& feature : {Feature{"label", DType::f32}, Feature{"floats", DType::f32, {2}},
                                 Feature{"floats", DType::f32, {4}}, Feature{"none", DType::i64},
                                 Feature{"floats", DType::f32}, Feature{"label", DType::i64, {2}},
                                 Feature{"texts", DType::bytes}}) {
    const Dataset set = Dataset::tfrecords(recorded("examples.tfrecord"), {feature});
    const auto out = run(set.batch(4));
    EXPECT_EQ(out, run(one_by_one(set).batch(4))) << feature.name;
    EXPECT_THAT(out.at(0), HasSubstr(feature.name));
  }
}

TEST(RecordRows, ABatchWithoutRoomIsOutOfMemoryAndComesOnceThereIs) {
  const TemporaryFolder folder;
  const Dataset set = examples(folder);
  const Device device = host();
  Pipeline pipeline(set.batch(50), device, {.limit = MiB(1)});
  Tensor held = Tensor::zeros({960, 1024}, DType::u8, device,
                              {.account = pipeline.budget().account(Tag::user, "held")});
  EXPECT_THROW(pipeline.next(), OutOfMemory);
  held = Tensor();
  EXPECT_EQ(rest_of(pipeline), run(one_by_one(set).batch(50)));
}

}  // namespace
}  // namespace plimsoll::data::testing

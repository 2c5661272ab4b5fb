// cache(folder) before batch: where elements are not kept in memory, they are read straight into
// the rows of the batch.

#include <atomic>
#include <fstream>
#include <random>

#include <gmock/gmock.h>

#include <plimsoll/data/disk_cache.h>

#include "data/cache_support.h"

namespace plimsoll::data::testing {
namespace {

namespace fs = std::filesystem;

/// No segment is left without elements.
constexpr int kCount = 23;

/// A row of `floats`, a number and an empty tensor.
MapFunction rows_of(std::int64_t floats, std::atomic<int>& calls) {
  MapFunction function;
  function.output = ElementSpec{true,
                                {TensorSpec::of(DType::f32, {floats}),
                                 TensorSpec::scalar(DType::i64), TensorSpec::of(DType::u8, {0, 3})},
                                {}};
  function.random = false;
  function.name = fmt::format("rows 1 {}", floats);
  function.run = [floats, &calls](const Element& element, MapContext& context) {
    ++calls;
    Tensor row = context.output(0);
    for (std::int64_t i = 0; i < floats; ++i) {
      row.mutable_data<float>()[i] = static_cast<float>(number(element) * 31 + i % 1009);
    }
    return Element{row, number(element), context.output(2)};
  };
  return function;
}

/// The shape of each batch and a hash of all that is in it.
std::vector<std::string> stream_of(const Dataset& dataset, const PipelineOptions& options) {
  const Device device = host();
  Pipeline pipeline(dataset, device, options);
  std::vector<std::string> result;
  while (const auto batch = pipeline.next()) {
    std::string text = fmt::format("{}:", batch->id);
    for (const Value& value : *batch) {
      const Tensor tensor = value.tensor().contiguous();
      const std::string_view bytes(static_cast<const char*>(tensor.raw_data()), tensor.nbytes());
      text += fmt::format(" {} {}", TensorSpec::of(value).to_string(),
                          std::hash<std::string_view>()(bytes));
    }
    result.push_back(text);
  }
  return result;
}

/// Below a page, within the buffer, and several pieces long.
const std::int64_t kFloats[] = {10, 20'000, 100'000};
/// Two batches of five rows, and not much more.
PipelineOptions little(std::int64_t floats, int threads = 2) {
  return {.limit = MiB(2) + static_cast<Bytes>(floats) * 4 * 10, .threads = threads};
}

TEST(CacheRows, BatchesFromTheCacheAreThoseOfTheInputWithAnyMemoryAndThreads) {
  for (const std::int64_t floats : kFloats) {
    const TemporaryFolder folder;
    std::atomic<int> calls = 0;
    const Dataset plain = Dataset::range(kCount).map(rows_of(floats, calls), {.parallel = 2});
    const auto expected = stream_of(plain.batch(5), {});
    const Dataset cached =
        plain.cache(folder.path() / "cache", {.segment = static_cast<Bytes>(floats) * 28});
    for (const int threads : {1, 2, 16}) {
      EXPECT_EQ(stream_of(cached.batch(5), little(floats, threads)), expected) << floats;
      EXPECT_EQ(stream_of(cached.batch(5).prefetch(), {.threads = threads}), expected) << floats;
      EXPECT_EQ(stream_of(cached.repeat(3).batch(8), little(floats, threads)),
                stream_of(plain.repeat(3).batch(8), {}))
          << floats;
    }
  }
}

TEST(CacheRows, ADamagedRowIsMadeAgain) {
  for (const std::int64_t floats : kFloats) {
    const TemporaryFolder folder;
    std::atomic<int> calls = 0;
    const Dataset cached =
        Dataset::range(kCount)
            .map(rows_of(floats, calls))
            .cache(folder.path() / "cache", {.segment = static_cast<Bytes>(floats) * 28});
    const auto expected = stream_of(cached.batch(5), {});
    std::mt19937 random(11);
    for (int round = 0; round < 20; ++round) {
      std::vector<fs::path> segments;
      for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
        if (entry.path().extension() == ".segment") segments.push_back(entry.path());
      }
      std::sort(segments.begin(), segments.end());
      const fs::path path = segments.at(random() % segments.size());
      std::string bytes = bytes_of(path);
      // The beginning has the head and the description of the first element.
      const std::size_t at = random() % (round % 2 == 0 ? 120 : bytes.size());
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      std::ofstream(path, std::ios::binary) << bytes;
      calls = 0;
      EXPECT_EQ(stream_of(cached.batch(5), little(floats)), expected) << floats << " at " << at;
      EXPECT_GT(calls, 0) << floats << " at " << at;
      EXPECT_TRUE(list_cache(folder.path() / "cache", true).at(0).broken.empty());
    }
  }
}

TEST(CacheRows, APositionBetweenBatchesIsRestored) {
  const std::int64_t floats = 100'000;
  const TemporaryFolder folder;
  std::atomic<int> calls = 0;
  const Dataset cached = Dataset::range(kCount)
                             .map(rows_of(floats, calls))
                             .cache(folder.path() / "cache", {.segment = MiB(2)})
                             .repeat(2)
                             .batch(5);
  const auto numbers_of = [](const Element& batch) {
    return std::vector<std::int64_t>(batch[1].tensor().data<std::int64_t>(),
                                     batch[1].tensor().data<std::int64_t>() + batch[1].shape()[0]);
  };
  const Device device = host();
  Pipeline pipeline(cached, device, little(floats));
  while (pipeline.next()) {
  }
  pipeline.rewind();
  for (int at = 0; at < 9; ++at) {
    const auto saved = pipeline.save();
    const auto next = numbers_of(*pipeline.next());
    Pipeline other(cached, device, little(floats, 4));
    other.restore(saved);
    EXPECT_EQ(numbers_of(*other.next()), next) << at;
  }
}

}  // namespace
}  // namespace plimsoll::data::testing

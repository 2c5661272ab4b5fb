// Where the bytes of records go: large ones are read straight to their tensors, small ones come out
// of a buffer; both are charged to the pipeline's budget.

#include <filesystem>

#include <gmock/gmock.h>

#include <plimsoll/data/record_writer.h>

#include "data/record_support.h"
#include "data/records/tfrecord.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::HasSubstr;

std::string contents(std::size_t size, unsigned seed) {
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>((seed = seed * 1664525 + 1013904223) >> 24);
  return text;
}

std::vector<std::string> contents_of(const std::vector<std::size_t>& sizes) {
  std::vector<std::string> all;
  for (const std::size_t size : sizes) all.push_back(contents(size, static_cast<unsigned>(size)));
  return all;
}

std::string tfrecord_file(const std::vector<std::string>& records) {
  std::string file;
  for (const std::string& record : records) {
    file +=
        tfrecord_head(record.size()) + record + tfrecord_tail(record.data(), Bytes{record.size()});
  }
  return file;
}

std::vector<std::string> quoted(const std::vector<std::string>& texts) {
  std::vector<std::string> all;
  for (const std::string& text : texts) all.push_back("'" + text + "'");
  return all;
}

/// Small ones, some that are larger than the buffer, and some about where they are told apart.
const std::vector<std::size_t> kSizes = {0,     10,    9'000,  5,       300'000, 8'175, 8'176,
                                         8'177, 8'192, 20'000, 131'056, 131'057, 1,     262'144};

TEST(RecordStorage, RecordsOfAllSizesComeAsTheyAre) {
  const TemporaryFolder folder;
  const auto records = contents_of(kSizes);
  folder.write("a.tfrecord", tfrecord_file(records));
  const Dataset set = Dataset::tfrecords((folder.path() / "a.tfrecord").string());
  EXPECT_EQ(run(set), quoted(records));
  auto shuffled = run(set.shuffle(), {.seed = 4});
  auto sorted = quoted(records);
  std::sort(shuffled.begin(), shuffled.end());
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(shuffled, sorted);
  for (const Compression compression : {Compression::gzip, Compression::zlib}) {
    const Device device = host();
    write_records(set, folder.path() / "packed", device, {.compression = compression});
    EXPECT_EQ(run(Dataset::tfrecords((folder.path() / "packed/*.tfrecord").string())),
              quoted(records));
  }
}

TEST(RecordStorage, ALargeRecordIsItsTensorsMemory) {
  const TemporaryFolder folder;
  folder.write("a.tfrecord", tfrecord_file(contents_of({100'000, 100'001})));
  const Device device = host();
  Pipeline pipeline(Dataset::tfrecords((folder.path() / "a.tfrecord").string()), device);
  const auto first = pipeline.next();
  ASSERT_TRUE(first);
  const Tensor& tensor = first->at(0).tensor();
  EXPECT_EQ(tensor.nbytes(), 100'000U);
  EXPECT_LE(tensor.storage()->size(), 100'000U + 128);
  EXPECT_GE(pipeline.budget().used(), 100'000U) << "what the consumer holds is charged";
  EXPECT_EQ(tensor.clone().string_at(0), tensor.string_at(0));
}

TEST(RecordStorage, AComponentKeepsLessThanTwiceItsSize) {
  const TemporaryFolder folder;
  const Device device = host();
  const std::string large = contents(60'000, 1);
  const std::string other = contents(50'000, 2);
  const Dataset pairs = Dataset::from_tensor_slices(
      {Tensor::from_strings({std::string_view(large), std::string_view(large)}, {2}, device),
       Tensor::from_strings({std::string_view(other), "few"}, {2}, device)},
      {"a", "b"});
  write_records(pairs, folder.path(), device, {});
  const Dataset set = Dataset::tfrecords((folder.path() / "*.tfrecord").string(),
                                         {{"a", DType::bytes}, {"b", DType::bytes}});
  Pipeline pipeline(set, device);
  const Bytes before = pipeline.budget().used();
  for (const std::string& b : {other, std::string("few")}) {
    auto element = pipeline.next();
    ASSERT_TRUE(element);
    EXPECT_EQ(element->at(0).text(), large);
    EXPECT_EQ(element->at(1).text(), b);
    const Tensor kept = element->at(0).tensor();
    EXPECT_LT(kept.storage()->size(), 2 * kept.nbytes());
    element.reset();
    EXPECT_GE(pipeline.budget().used() + before, kept.storage()->size())
        << "a view is charged with all that it keeps";
  }
}

TEST(RecordStorage, ABrokenRecordLeavesItsNeighboursWhole) {
  const TemporaryFolder folder;
  // Of small ones in one buffer, and of large ones.
  for (const std::size_t size : {std::size_t{500}, std::size_t{30'000}}) {
    const auto records = contents_of(std::vector<std::size_t>(9, size));
    std::string file = tfrecord_file(records);
    const std::size_t stride = kTfRecordHead + size + kTfRecordTail;
    file[4 * stride + kTfRecordHead + size / 2] ^= 1;
    folder.write("a.tfrecord", file);
    const Dataset set = Dataset::tfrecords((folder.path() / "a.tfrecord").string());
    auto out = run(set);
    ASSERT_EQ(out.size(), 9U);
    EXPECT_THAT(out[4], HasSubstr("record 4 at offset " + std::to_string(4 * stride) +
                                  ": its contents do not match their checksum"));
    out[4] = "'" + records[4] + "'";
    EXPECT_EQ(out, quoted(records));
    EXPECT_EQ(run(set.ignore_errors()).size(), 8U);
  }
}

TEST(RecordStorage, AFileThatIsCutAfterItsIndexWasMadeIsNamed) {
  const TemporaryFolder folder;
  for (const std::size_t size : {std::size_t{500}, std::size_t{30'000}}) {
    const auto records = contents_of(std::vector<std::size_t>(4, size));
    folder.write("a.tfrecord", tfrecord_file(records));
    const Dataset set = Dataset::tfrecords((folder.path() / "a.tfrecord").string());
    std::filesystem::resize_file(folder.path() / "a.tfrecord", 2 * (size + 16) + size / 2);
    const auto out = run(set);
    ASSERT_EQ(out.size(), 4U);
    EXPECT_EQ(out[1], "'" + records[1] + "'");
    EXPECT_THAT(out[2], HasSubstr("record 2 at offset " + std::to_string(2 * (size + 16)) +
                                  ": cut off since its index was made"));
    EXPECT_THAT(out[3], HasSubstr("record 3"));
    EXPECT_THAT(out[3], HasSubstr("cut off since its index was made"));
  }
}

TEST(RecordStorage, TheStreamIsTheSameInAnyBudgetThatHasRoomForARecord) {
  const TemporaryFolder folder;
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < 60; ++i) sizes.push_back(i * i * 83 % 290'000);
  const auto records = contents_of(sizes);
  folder.write("a.tfrecord", tfrecord_file(records));
  const Dataset set = Dataset::tfrecords((folder.path() / "a.tfrecord").string()).prefetch();
  for (const Bytes limit : {KiB(700), MiB(1), MiB(4), MiB(64)}) {
    const Device device = host();
    Pipeline pipeline(set, device, {.limit = limit});
    EXPECT_EQ(rest_of(pipeline), quoted(records)) << limit;
    EXPECT_LE(pipeline.budget().peak(), limit);
  }
}

TEST(TensorFromStorage, TakesByteStringsOnlyByATableThatLiesWithin) {
  const Device device = host();
  const auto storage = Storage::allocate(device, 32, Tag::user, "texts");
  auto* const table = static_cast<std::uint64_t*>(storage->data());
  const auto set = [&](std::uint64_t begin, std::uint64_t end) {
    table[0] = begin;
    table[1] = end;
    return message_of([&] { Tensor::from_storage(storage, DType::bytes, {}); });
  };
  EXPECT_EQ(set(16, 32), "nothing was thrown");
  EXPECT_EQ(Tensor::from_storage(storage, DType::bytes, {}).nbytes(), 16U);
  EXPECT_THAT(set(16, 33), HasSubstr("no table of 1 byte strings at byte 0 of 32"));
  EXPECT_THAT(set(20, 18), HasSubstr("no table of 1 byte strings"));
  table[0] = table[1] = 16;
  EXPECT_THROW(Tensor::from_storage(storage, DType::bytes, {}, {}, 32), InvalidArgument);
  EXPECT_THROW(Tensor::from_storage(storage, DType::bytes, {}, {}, 4), InvalidArgument);
  EXPECT_THROW(Tensor::from_storage(storage, DType::bytes, {4}), InvalidArgument);
}

}  // namespace
}  // namespace plimsoll::data::testing

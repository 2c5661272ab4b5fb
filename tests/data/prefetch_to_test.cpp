// Elements on their way to a device, here a session of the CPU with a small limit.

#include <map>

#include <gmock/gmock.h>

#include <plimsoll/memory/out_of_memory.h>

#include "data/pipeline_support.h"

namespace plimsoll::data::testing {
namespace {

using ::testing::HasSubstr;

constexpr Bytes kBatch = 64 * sizeof(std::int64_t);

Dataset batches(std::int64_t count) { return Dataset::range(64 * count).batch(64); }

Bytes held(const Device& device, Tag tag) {
  Bytes bytes = 0;
  for (const Holder& holder : device.budget().ledger().holders()) {
    if (holder.tag == tag) bytes += holder.bytes;
  }
  return bytes;
}

TEST(PrefetchTo, GivesTheSameStreamOnTheDevice) {
  const Device device = host();
  const Session session = device.session("target", MiB(8));
  for (const int count : {0, 1, 2, kAutotune}) {
    Pipeline plain(batches(50), device);
    Pipeline moved(batches(50).prefetch_to(session.device(), count), device);
    while (const auto expected = plain.next()) {
      const auto element = moved.next();
      ASSERT_TRUE(element);
      EXPECT_EQ(element->id, expected->id);
      EXPECT_EQ(element->at(0).tensor().device(), session.device());
      EXPECT_EQ(element->at(0).tensor().to_vector<std::int64_t>(),
                expected->at(0).tensor().to_vector<std::int64_t>());
    }
    EXPECT_FALSE(moved.next());
  }
}

TEST(PrefetchTo, IsChargedToTheDevice) {
  const Device device = host();
  const Session session = device.session("target", MiB(8));
  {
    Pipeline pipeline(batches(50).prefetch_to(session.device(), 3), device);
    const auto element = pipeline.next();
    EXPECT_EQ(held(session.device(), Tag::user), kBatch);
    EXPECT_LE(held(session.device(), Tag::prefetch), 3 * kBatch);
  }
  EXPECT_EQ(held(session.device(), Tag::prefetch), 0U);
  EXPECT_EQ(held(session.device(), Tag::user), 0U);
}

TEST(PrefetchTo, ScalarsAndByteStringsStayWithTheHost) {
  const Device device = host();
  const Session session = device.session("target", MiB(8));
  const Tensor names = Tensor::from_strings({"one", "two"}, {2}, device);
  const Tensor values = Tensor::from_values<float>({1, 2, 3, 4}, {2, 2}, device);
  Pipeline pipeline(
      Dataset::from_tensor_slices({names, values}).enumerate().prefetch_to(session.device()),
      device);
  const auto element = pipeline.next();
  ASSERT_TRUE(element);
  EXPECT_EQ(element->at(0).as<std::int64_t>(), 0);
  EXPECT_EQ(element->at(1).text(), "one");
  EXPECT_EQ(element->at(2).tensor().device(), session.device());
}

TEST(PrefetchTo, AnElementThatFindsNoRoomStaysAtTheHead) {
  const Device device = host();
  const Session session = device.session("target", MiB(1));
  const std::int64_t row = 128 * 1'024;  // of 128 KiB
  int made = 0;
  MapFunction function;
  function.output = ElementSpec{true, {TensorSpec{DType::u8, {{row}}}}, {}};
  function.run = [&made](const Element& element, MapContext& context) {
    ++made;
    Tensor bytes = context.output(0);
    std::fill_n(bytes.mutable_data<std::uint8_t>(), row,
                static_cast<std::uint8_t>(number(element)));
    return Element{bytes};
  };
  function.name = "bytes";
  for (const int count : {0, 2}) {
    made = 0;
    Pipeline pipeline(Dataset::range(40).map(function).prefetch_to(session.device(), count),
                      device);
    std::vector<Element> kept;
    int refused = 0;
    for (std::uint8_t expected = 0; expected < 40;) {
      try {
        const auto element = pipeline.next();
        ASSERT_TRUE(element);
        EXPECT_EQ(element->at(0).tensor().select(0, 77).item<std::uint8_t>(), expected);
        ++expected;
        kept.push_back(*element);
      } catch (const OutOfMemory& error) {
        ASSERT_FALSE(kept.empty());
        EXPECT_THAT(error.report().budget, HasSubstr("target"));
        EXPECT_THAT(error.what(), HasSubstr("delivered"));
        ++refused;
        EXPECT_THROW(pipeline.next(), OutOfMemory);  // and again, until there is room
        kept.clear();
      }
    }
    EXPECT_FALSE(pipeline.next());
    EXPECT_GE(refused, 3);
    EXPECT_EQ(made, 40) << "what was made for the host was not made again";
  }
}

TEST(PrefetchTo, ADeviceThatOneElementExceedsIsRefusedWithTheNumber) {
  const Device device = host();
  const Session session = device.session("target", MiB(1));
  const auto dataset = Dataset::range(1 << 20).batch(1 << 18, {.drop_remainder = true});
  try {
    Pipeline pipeline(dataset.prefetch_to(session.device()), device);
    FAIL() << "was not refused";
  } catch (const BudgetTooSmall& error) {
    EXPECT_THAT(error.what(), HasSubstr("[prefetch_to] an element takes 2 MiB (2097152 bytes)"));
  }
}

TEST(PrefetchTo, SavesAndRestores) {
  const Device device = host();
  const Session session = device.session("target", MiB(8));
  const auto dataset = batches(40).shuffle({.elements = 7}).prefetch_to(session.device(), 3);
  const auto expected = run(dataset, {.seed = 2});
  for (const std::size_t stop : {0U, 1U, 17U, 40U}) {
    Pipeline first(dataset, device, {.seed = 2});
    EXPECT_EQ(rest_of(first, stop).size(), stop);
    Pipeline second(dataset, device, {.seed = 2});
    second.restore(first.save());
    EXPECT_EQ(rest_of(second),
              std::vector<std::string>(expected.begin() + static_cast<std::ptrdiff_t>(stop),
                                       expected.end()));
  }
  // Where the elements go to is no part of what they are.
  Pipeline other(batches(40).shuffle({.elements = 7}).prefetch_to(device, 1), device, {.seed = 2});
  Pipeline first(dataset, device, {.seed = 2});
  EXPECT_NO_THROW(other.restore(first.save()));
}

TEST(PrefetchTo, ACountThatIsNoneIsRefused) {
  EXPECT_THROW(batches(4).prefetch_to(host(), -3), InvalidArgument);
}

}  // namespace
}  // namespace plimsoll::data::testing

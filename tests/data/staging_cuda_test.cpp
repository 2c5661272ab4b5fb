// Elements on their way to a GPU.

#include <gtest/gtest.h>

#include <plimsoll/device/backend.h>

#include "data/pipeline_support.h"
#include "support/own_device.h"

namespace plimsoll::data::testing {
namespace {

constexpr std::int64_t kRow = 1 << 20;
constexpr Bytes kBatch = kRow * sizeof(std::int64_t);

Bytes held(const Device& device, Tag tag) {
  Bytes bytes = 0;
  for (const Holder& holder : device.budget().ledger().holders()) {
    if (holder.tag == tag) bytes += holder.bytes;
  }
  return bytes;
}

class StagingOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (find_backend("cuda")->count(why) == 0) GTEST_SKIP() << why;
    gpu_.emplace(test::own_device("cuda:0"));
  }
  static Dataset batches(std::int64_t count) { return Dataset::range(kRow * count).batch(kRow); }

  std::optional<Device> gpu_;
  const Device host_ = host(GiB(1));
};

TEST_F(StagingOnGpu, TheHostReadsWhatWasSent) {
  for (const int count : {0, 1, 3, kAutotune}) {
    Pipeline pipeline(batches(12).prefetch_to(*gpu_, count), host_);
    std::vector<Element> kept;
    while (auto element = pipeline.next()) kept.push_back(std::move(*element));
    ASSERT_EQ(kept.size(), 12U);
    for (std::int64_t i = 11; i >= 0; --i) {
      const auto values =
          kept[static_cast<std::size_t>(i)].at(0).tensor().to_vector<std::int64_t>();
      EXPECT_EQ(values.front(), i * kRow);
      EXPECT_EQ(values.back(), (i + 1) * kRow - 1);
    }
  }
}

TEST_F(StagingOnGpu, AStreamReadsWhatWasSentAndTheElementMayGo) {
  const StreamId reader = gpu_->make_stream();
  const std::unique_ptr<Arena> pinned = gpu_->make_pinned_arena(host_.budget());
  const Block seen = pinned->allocate(
      30 * sizeof(std::int64_t), pinned->budget().account(Tag::user, "what a stream has seen"));
  auto* const last = static_cast<std::int64_t*>(seen.data());
  Pipeline pipeline(batches(30).prefetch_to(*gpu_, 2), host_);
  std::size_t count = 0;
  while (const auto element = pipeline.next()) {
    const Tensor tensor = element->at(0).tensor();
    const auto* data = static_cast<const std::int64_t*>(tensor.raw_data_on(reader));
    gpu_->copy(last + count++, data + kRow - 1, sizeof(std::int64_t), reader);
  }
  gpu_->synchronize(reader);
  ASSERT_EQ(count, 30U);
  for (std::int64_t i = 0; i < 30; ++i) EXPECT_EQ(last[i], (i + 1) * kRow - 1);
}

TEST_F(StagingOnGpu, BatchesAreMadeInPinnedMemory) {
  Pipeline pipeline(batches(12).prefetch().prefetch_to(*gpu_), host_);
  std::int64_t index = 0;
  while (const auto element = pipeline.next()) {
    const auto values = element->at(0).tensor().to_vector<std::int64_t>();
    EXPECT_EQ(values.front(), index * kRow);
    EXPECT_EQ(values.back(), (index + 1) * kRow - 1);
    ++index;
  }
  EXPECT_EQ(index, 12);
  EXPECT_LT(host_.arena().stats().live_peak, kBatch) << "no batch in other memory";
}

TEST_F(StagingOnGpu, EverythingGoesBack) {
  const Bytes used = gpu_->budget().used();
  {
    Pipeline pipeline(batches(10).prefetch_to(*gpu_, 2), host_);
    pipeline.next();
    pipeline.next();
    EXPECT_GE(held(host_, Tag::staging), kBatch);
    EXPECT_LE(held(host_, Tag::staging), 2 * kBatch);
    pipeline.pause();
    EXPECT_EQ(held(host_, Tag::staging), 0U);
    EXPECT_EQ(gpu_->budget().used(), used);
    while (pipeline.next()) {
    }
    EXPECT_EQ(held(host_, Tag::staging), 0U);
  }
  gpu_->arena().trim();
  EXPECT_EQ(gpu_->budget().used(), used);
}

}  // namespace
}  // namespace plimsoll::data::testing

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <plimsoll/base/error.h>
#include <plimsoll/device/backend.h>

namespace plimsoll {
namespace {

class CudaBackendTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (cuda_.count(why) == 0) GTEST_SKIP() << why;
    device_ = cuda_.open(0, {});
  }

  /// A mapped range of a source that goes back with the object.
  struct Mapped {
    Mapped(std::shared_ptr<PageSource> of, Bytes bytes, Bytes chunk)
        : source(std::move(of)), range(source->reserve(bytes)) {
      source->map(range, chunk);
    }
    ~Mapped() {
      source->unmap(range);
      source->release(range);
    }
    Mapped(const Mapped&) = delete;
    Mapped& operator=(const Mapped&) = delete;
    std::uint8_t* at(Bytes offset = 0) const {
      return reinterpret_cast<std::uint8_t*>(range.begin + offset);
    }
    std::shared_ptr<PageSource> source;
    AddressRange range;
  };

  void clear(const Mapped& memory) const {
    const std::vector<std::uint8_t> zeros(memory.range.size);
    device_->copy(memory.at(), zeros.data(), zeros.size(), kHostStream);
  }

  const Backend& cuda_ = *find_backend("cuda");
  std::shared_ptr<DeviceBackend> device_;
};

TEST_F(CudaBackendTest, TellsWhatItIs) {
  const DeviceInfo info = device_->info();
  const DeviceInfo described = cuda_.describe(0);
  EXPECT_EQ(info.name, "cuda:0");
  EXPECT_FALSE(info.description.empty());
  EXPECT_EQ(info.total, described.total);
  EXPECT_GT(info.total, GiB(1));
  EXPECT_LE(info.free.value(), info.total);
  EXPECT_NE(info.usage, UsageSource::unknown);
  EXPECT_FALSE(device_->pages()->host_accessible());
  EXPECT_TRUE(device_->pinned_pages()->host_accessible());
}

TEST_F(CudaBackendTest, MeasuresTheContext) {
  EXPECT_GT(device_->runtime(), MiB(50));
  EXPECT_LT(device_->runtime(), GiB(2));
  if (const auto used = device_->process_used()) {
    // With room for what the driver takes later.
    EXPECT_GE(*used + MiB(32), device_->runtime());
    EXPECT_LE(*used, device_->runtime());
    EXPECT_EQ(device_->info().usage, UsageSource::process);
  }
  EXPECT_EQ(device_->use().source, device_->info().usage);
}

TEST_F(CudaBackendTest, ADeviceThatIsOpenIsShared) { EXPECT_EQ(cuda_.open(0, {}), device_); }

TEST_F(CudaBackendTest, UnknownDevicesAndStreamsAreNamed) {
  std::string why;
  EXPECT_THROW((void)cuda_.open(cuda_.count(why), {}), InvalidArgument);
  EXPECT_THROW((void)cuda_.open(-1, {}), InvalidArgument);
  EXPECT_THROW(device_->synchronize(4711), InvalidArgument);
  EXPECT_THROW((void)device_->fences()->record(4711), InvalidArgument);
  char byte = 0;
  EXPECT_THROW(device_->copy(&byte, &byte, 1, 4711), InvalidArgument);
}

TEST_F(CudaBackendTest, CopiesCrossTheChunksOfBothSides) {
  // Registrations of pinned memory end every 2 MiB here, those of the device elsewhere.
  const Bytes size = MiB(24);
  const Mapped pinned(device_->pinned_pages(), size, 0);
  const Mapped memory(device_->pages(), size, MiB(16));
  std::vector<std::uint8_t> expected(size);
  std::iota(expected.begin(), expected.end(), std::uint8_t{0});
  for (Bytes i = 0; i < size; i += 4096) expected[i] = static_cast<std::uint8_t>(i >> 16);

  const Bytes offset = 1000;  // so that no boundary meets another
  const Bytes bytes = size - 2 * offset;
  device_->copy(pinned.at(), expected.data(), size, kHostStream);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), pinned.at()));
  device_->copy(memory.at(2 * offset), pinned.at(offset), bytes, kHostStream);
  std::vector<std::uint8_t> back(bytes);
  device_->copy(back.data(), memory.at(2 * offset), bytes, kHostStream);
  EXPECT_TRUE(std::equal(back.begin(), back.end(), expected.begin() + offset));

  const StreamId stream = device_->make_stream();
  std::fill_n(pinned.at(), size, std::uint8_t{0});
  device_->copy(pinned.at(offset), memory.at(2 * offset), bytes, stream);
  device_->synchronize(stream);
  EXPECT_TRUE(std::equal(back.begin(), back.end(), pinned.at(offset)));
}

TEST_F(CudaBackendTest, FencesFollowTheWorkOfTheirStream) {
  const Bytes size = MiB(256);
  const Mapped memory(device_->pages(), 2 * size, MiB(64));
  clear(memory);
  const StreamId stream = device_->make_stream();
  EXPECT_TRUE(device_->fences()->record(kHostStream)->done());
  for (int i = 0; i < 64; ++i) {
    device_->copy(memory.at(size), memory.at(), size, stream);
  }
  const std::shared_ptr<Fence> fence = device_->fences()->record(stream);
  // Recorded after 16 GiB of copies and asked for at once, from another thread as well.
  const bool early = fence->done();
  std::thread([&] { fence->wait(); }).join();
  EXPECT_TRUE(fence->done());
  EXPECT_FALSE(early) << "the fence did not wait for the copies";
  for (int i = 0; i < 1000; ++i) device_->fences()->record(stream)->wait();
}

TEST_F(CudaBackendTest, AStreamWaitsForAnotherOnTheDevice) {
  const Bytes size = MiB(64);
  const Mapped memory(device_->pages(), 3 * size, MiB(64));
  clear(memory);
  const Mapped pinned(device_->pinned_pages(), MiB(2), MiB(2));
  const StreamId writer = device_->make_stream();
  const StreamId reader = device_->make_stream();
  for (std::uint8_t round = 1; round < 20; ++round) {
    std::fill_n(pinned.at(), 1024, round);
    // The bytes that matter come last, after 4 GiB of others.
    for (int i = 0; i < 64; ++i) device_->copy(memory.at(size), memory.at(), size, writer);
    device_->copy(memory.at(), pinned.at(), 512, writer);
    const std::shared_ptr<Fence> fence = device_->fence(writer);
    device_->wait(reader, *fence);
    device_->copy(pinned.at(1024), memory.at(), 512, reader);
    EXPECT_FALSE(fence->done()) << "the host waited";
    device_->synchronize(reader);
    EXPECT_TRUE(fence->done());
    ASSERT_EQ(pinned.at()[1024 + 511], round);
  }
}

TEST_F(CudaBackendTest, ATimerTellsTheDevicesTime) {
  const Bytes size = MiB(256);
  const Mapped memory(device_->pages(), 2 * size, MiB(64));
  clear(memory);
  const StreamId stream = device_->make_stream();
  const std::unique_ptr<StreamTimer> timer = device_->make_timer(stream);
  timer->mark();
  device_->copy(memory.at(size), memory.at(), size, stream);
  timer->mark();
  for (int i = 0; i < 16; ++i) device_->copy(memory.at(size), memory.at(), size, stream);
  timer->mark();
  const std::vector<double> seconds = timer->seconds();
  ASSERT_EQ(seconds.size(), 2U);
  EXPECT_GT(seconds[0], 0);
  EXPECT_GT(seconds[1], 8 * seconds[0]);
  EXPECT_LT(seconds[1], 1);
}

TEST_F(CudaBackendTest, ARecordingTakesTheStreamsThatWaitForIt) {
  const Bytes size = MiB(16);
  const Mapped memory(device_->pages(), 4 * size, MiB(64));
  const StreamId first = device_->make_stream();
  const StreamId second = device_->make_stream();
  std::vector<std::uint8_t> bytes(size);
  std::thread other;
  const auto work = [&] {
    device_->copy(memory.at(size), memory.at(), size, first);
    device_->wait(second, *device_->fence(first));
    device_->copy(memory.at(2 * size), memory.at(size), size, second);
    device_->wait(first, *device_->fence(second));
    device_->copy(memory.at(3 * size), memory.at(2 * size), size, first);
    // An arena that is short of memory, on another thread, must not end up in the recording.
    std::thread([&] { EXPECT_EQ(device_->fences()->record(first), nullptr); }).join();
    // Who waits for the device from another thread gets what is there before or after it.
    std::atomic<bool> begun{false};
    other = std::thread([&] {
      begun = true;
      device_->synchronize();
    });
    while (!begun) std::this_thread::yield();
    EXPECT_THROW(device_->synchronize(), DeviceError);
    EXPECT_THROW(device_->synchronize(first), DeviceError);
  };
  const std::unique_ptr<Recording> recording =
      device_->record(first, work, [](Bytes) { return false; });
  other.join();
  ASSERT_NE(recording, nullptr);
  EXPECT_NE(device_->fences()->record(first), nullptr);
  for (std::uint8_t round = 1; round < 5; ++round) {
    std::fill(bytes.begin(), bytes.end(), round);
    device_->copy(memory.at(), bytes.data(), size, kHostStream);
    recording->replay();
    device_->synchronize(first);
    device_->copy(bytes.data(), memory.at(3 * size), size, kHostStream);
    ASSERT_EQ(bytes.front(), round);
    ASSERT_EQ(bytes.back(), round);
  }
}

TEST_F(CudaBackendTest, ContentsSurviveOnTheDeviceWhileOthersAreMappedAndMoved) {
  const auto pages = device_->pages();
  const Mapped kept(pages, MiB(64), MiB(64));
  std::vector<std::uint8_t> expected(MiB(64), 0x5a);
  device_->copy(kept.at(), expected.data(), expected.size(), kHostStream);
  const AddressRange range = pages->reserve(MiB(128));
  for (int i = 0; i < 20; ++i) {
    pages->map({range.begin, MiB(64)}, MiB(2) << (i % 6));
    pages->move({range.begin, MiB(64)}, {range.begin + MiB(64), MiB(64)});
    pages->unmap({range.begin + MiB(64), MiB(64)});
  }
  pages->release(range);
  std::vector<std::uint8_t> back(expected.size());
  device_->copy(back.data(), kept.at(), back.size(), kHostStream);
  EXPECT_EQ(back, expected);
}

}  // namespace
}  // namespace plimsoll

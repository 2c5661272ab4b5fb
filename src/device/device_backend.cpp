#include <plimsoll/device/device_backend.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

namespace plimsoll {
namespace {

class HostTimer final : public StreamTimer {
 public:
  HostTimer(DeviceBackend& backend, StreamId stream) : backend_(backend), stream_(stream) {}

  void mark() override {
    backend_.synchronize(stream_);
    marks_.push_back(Clock::now());
  }

  std::vector<double> seconds() override {
    std::vector<double> between;
    for (std::size_t i = 1; i < marks_.size(); ++i) {
      between.push_back(std::chrono::duration<double>(marks_[i] - marks_[i - 1]).count());
    }
    return between;
  }

 private:
  using Clock = std::chrono::steady_clock;
  DeviceBackend& backend_;
  const StreamId stream_;
  std::vector<Clock::time_point> marks_;
};

}  // namespace

MemoryUse DeviceBackend::use() const {
  const std::optional<Bytes> used = process_used();
  return used ? MemoryUse{*used, UsageSource::process} : MemoryUse{};
}

std::shared_ptr<Fence> DeviceBackend::fence(StreamId stream) {
  synchronize(stream);
  return passed_fence();
}

std::unique_ptr<StreamTimer> DeviceBackend::make_timer(StreamId stream) {
  return std::make_unique<HostTimer>(*this, stream);
}

void DeviceBackend::fill_zero(void* to, Bytes bytes, StreamId stream) {
  static constexpr std::array<std::byte, 4096> kZeros{};
  auto* data = static_cast<std::byte*>(to);
  Bytes done = std::min<Bytes>(bytes, kZeros.size());
  if (done != 0) copy(data, kZeros.data(), done, stream);
  while (done < bytes) {
    const Bytes more = std::min(done, bytes - done);
    copy(data + done, data, more, stream);
    done += more;
  }
}

}  // namespace plimsoll

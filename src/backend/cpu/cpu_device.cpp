#include "backend/cpu/cpu_device.h"

#include <unistd.h>

#include <cstring>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/system.h>
#include <plimsoll/memory/host_pages.h>

namespace plimsoll::cpu {
namespace {

/// A limit of fewer pages than this loses too much to rounding.
constexpr Bytes kFewPages = 64;

/// The largest granularity of which `limit` has many pages.
Bytes suitable_page_size(Bytes limit) {
  if (huge_pages_available() && limit / MiB(2) >= kFewPages) return MiB(2);
  if (limit / KiB(64) >= kFewPages) return KiB(64);
  return static_cast<Bytes>(sysconf(_SC_PAGESIZE));
}

class CpuDevice final : public DeviceBackend {
 public:
  explicit CpuDevice(const CpuDeviceOptions& options)
      : options_(options), pages_(make_pages(page_size_for(kUnlimited))) {}

  DeviceInfo info() const override { return cpu_info(); }

  std::shared_ptr<PageSource> pages() override { return pages_; }
  std::shared_ptr<PageSource> pages_for(Bytes limit) override {
    const Bytes size = page_size_for(limit);
    return size == pages_->page_size() ? pages_ : make_pages(size);
  }
  std::shared_ptr<PageSource> pinned_pages() override { return pages_; }
  std::shared_ptr<FenceSource> fences() override { return nullptr; }

  Bytes runtime() const override { return 0; }
  std::optional<Bytes> process_used() const override { return resident_bytes(); }
  Bytes process_reserve() const override { return plimsoll::process_reserve(); }

  StreamId make_stream() override { return kHostStream; }
  void synchronize(StreamId stream) override { check(stream); }
  void synchronize() override {}
  void copy(void* to, const void* from, Bytes bytes, StreamId stream) override {
    check(stream);
    if (bytes != 0) std::memmove(to, from, bytes);
  }
  void fill_zero(void* to, Bytes bytes, StreamId) override {
    if (bytes != 0) std::memset(to, 0, bytes);
  }

 private:
  Bytes page_size_for(Bytes limit) const {
    return options_.page_size != 0 ? options_.page_size : suitable_page_size(limit);
  }
  std::shared_ptr<PageSource> make_pages(Bytes size) const {
    return make_host_pages({.page_size = size, .populate = options_.populate});
  }
  static void check(StreamId stream) {
    if (stream != kHostStream) {
      throw InvalidArgument(fmt::format("[cpu:0] no stream {}; the CPU has only the host's, {}",
                                        stream, kHostStream));
    }
  }

  CpuDeviceOptions options_;
  std::shared_ptr<PageSource> pages_;
};

}  // namespace

std::shared_ptr<DeviceBackend> open_cpu(const CpuDeviceOptions& options) {
  return std::make_shared<CpuDevice>(options);
}

DeviceInfo cpu_info() {
  const HostMemory memory = host_memory();
  // A training run has about six arenas, and each takes addresses for twice what it may hold.
  const Bytes addresses = address_space_left() / 16;
  return {.name = "cpu:0",
          .description = cpu_model(),
          .total = memory.total,
          .free = std::min(memory.available, addresses),
          .usage = UsageSource::process};
}

}  // namespace plimsoll::cpu

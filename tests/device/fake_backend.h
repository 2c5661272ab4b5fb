#pragma once

#include <atomic>
#include <cstring>
#include <memory>

#include <plimsoll/device/backend.h>
#include <plimsoll/memory/host_pages.h>

namespace plimsoll {

/// A device like a GPU on a machine without one: it has a runtime, its memory counts as out of the
/// host's reach, and its copies are counted.
class FakeBackend : public DeviceBackend {
 public:
  FakeBackend(Bytes total, Bytes runtime) : total_(total), runtime_(runtime) {}

  DeviceInfo info() const override {
    return {.name = "cuda:3",
            .description = "Fake",
            .total = total_,
            .free = total_ - runtime_,
            .usage = used.source};
  }
  std::shared_ptr<PageSource> pages() override { return pages_; }
  std::shared_ptr<PageSource> pinned_pages() override { return pages_; }
  std::shared_ptr<FenceSource> fences() override { return nullptr; }
  Bytes runtime() const override { return runtime_; }
  std::optional<Bytes> process_used() const override {
    return used.source == UsageSource::process ? std::optional(used.bytes) : std::nullopt;
  }
  MemoryUse use() const override { return used; }
  StreamId make_stream() override { return ++streams_; }
  void synchronize(StreamId) override {}
  void synchronize() override {}
  void copy(void* to, const void* from, Bytes bytes, StreamId) override {
    ++copies;
    std::memmove(to, from, bytes);
  }

  std::atomic<int> copies{0};
  MemoryUse used;  ///< what its driver would tell

 private:
  Bytes total_;
  Bytes runtime_;
  std::atomic<StreamId> streams_{0};
  std::shared_ptr<PageSource> pages_ = make_host_pages({.page_size = KiB(64)});
};

}  // namespace plimsoll

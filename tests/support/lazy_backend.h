#pragma once

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include <plimsoll/device/backend.h>
#include <plimsoll/memory/host_pages.h>

namespace plimsoll {

/// A device like a GPU on a machine without one, and the laziest there can be: work that is
/// submitted to a stream is done when somebody waits for it and not before, so that whoever counts
/// on luck reads old bytes. Waits of the host that had to do work are counted.
class LazyBackend : public DeviceBackend, public std::enable_shared_from_this<LazyBackend> {
 public:
  explicit LazyBackend(Bytes total) : total_(total) {}

  DeviceInfo info() const override {
    return {.name = "cuda:7", .description = "Lazy", .total = total_, .free = total_};
  }
  std::shared_ptr<PageSource> pages() override { return pages_; }
  std::shared_ptr<PageSource> pinned_pages() override { return pinned_; }
  std::shared_ptr<FenceSource> fences() override {
    return std::make_shared<Fences>(shared_from_this());
  }
  Bytes runtime() const override { return 0; }
  std::optional<Bytes> process_used() const override { return std::nullopt; }

  StreamId make_stream() override {
    const std::lock_guard lock(mutex_);
    streams_[++made_];
    return made_;
  }
  void synchronize(StreamId stream) override {
    const std::lock_guard lock(mutex_);
    if (stream != kHostStream) wait_until(stream, streams_.at(stream).submitted);
  }
  void synchronize() override {
    const std::lock_guard lock(mutex_);
    for (auto& [id, stream] : streams_) wait_until(id, stream.submitted);
  }
  void copy(void* to, const void* from, Bytes bytes, StreamId stream) override {
    submit(stream, [=] { std::memmove(to, from, bytes); });
  }
  std::shared_ptr<Fence> fence(StreamId stream) override {
    if (stream == kHostStream) return passed_fence();
    const std::lock_guard lock(mutex_);
    return std::make_shared<Point>(shared_from_this(), stream, streams_.at(stream).submitted);
  }
  void wait(StreamId stream, Fence& fence) override {
    const auto& point = dynamic_cast<const Point&>(fence);
    submit(stream, [this, of = point.stream, at = point.at] { run_until(of, at); });
  }

  /// Whether all that was submitted has been done.
  bool idle() const {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, stream] : streams_) {
      if (stream.done != stream.submitted) return false;
    }
    return true;
  }
  int host_waits() const {
    const std::lock_guard lock(mutex_);
    return host_waits_;
  }

 private:
  struct Stream {
    std::deque<std::function<void()>> work;
    std::uint64_t submitted = 0;
    std::uint64_t done = 0;
  };
  struct Point final : Fence {
    Point(std::shared_ptr<LazyBackend> b, StreamId s, std::uint64_t n)
        : backend(std::move(b)), stream(s), at(n) {}
    bool done() override {
      const std::lock_guard lock(backend->mutex_);
      return backend->streams_.at(stream).done >= at;
    }
    void wait() override {
      const std::lock_guard lock(backend->mutex_);
      backend->wait_until(stream, at);
    }
    const std::shared_ptr<LazyBackend> backend;
    const StreamId stream;
    const std::uint64_t at;
  };
  struct Fences final : FenceSource {
    explicit Fences(const std::shared_ptr<LazyBackend>& b) : backend(b) {}
    std::shared_ptr<Fence> record(StreamId stream) override {
      const auto open = backend.lock();
      return open == nullptr ? passed_fence() : open->fence(stream);
    }
    const std::weak_ptr<LazyBackend> backend;
  };

  void submit(StreamId stream, std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    if (stream == kHostStream) {
      work();
      return;
    }
    Stream& s = streams_.at(stream);
    s.work.push_back(std::move(work));
    ++s.submitted;
  }
  void wait_until(StreamId stream, std::uint64_t at) {
    if (streams_.at(stream).done < at) ++host_waits_;
    run_until(stream, at);
  }
  void run_until(StreamId stream, std::uint64_t at) {
    Stream& s = streams_.at(stream);
    while (s.done < at) {
      const std::function<void()> work = std::move(s.work.front());
      s.work.pop_front();
      work();
      ++s.done;
    }
  }

  const Bytes total_;
  std::shared_ptr<PageSource> pages_ = make_host_pages({.page_size = KiB(64)});
  std::shared_ptr<PageSource> pinned_ = make_host_pages({.page_size = KiB(64)});
  mutable std::recursive_mutex mutex_;
  std::map<StreamId, Stream> streams_;
  StreamId made_ = 0;
  int host_waits_ = 0;
};

}  // namespace plimsoll

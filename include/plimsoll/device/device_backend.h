#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <plimsoll/device/choices.h>
#include <plimsoll/device/device.h>
#include <plimsoll/memory/fence.h>
#include <plimsoll/memory/page_source.h>

namespace plimsoll {

/// An opened device as its backend brings it: pages, streams, copies and its own figures. The CPU's
/// is in src/backend/cpu, CUDA's in src/backend/cuda. Thread-safe.
class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;

  /// Its name is "<backend>:<ordinal>".
  virtual DeviceInfo info() const = 0;

  /// Pages of the device itself.
  virtual std::shared_ptr<PageSource> pages() = 0;
  /// Pages that suit a scope of at most `limit` bytes, so that rounding does not eat a small one.
  virtual std::shared_ptr<PageSource> pages_for(Bytes limit) {
    (void)limit;
    return pages();
  }
  /// Host pages that the device's copy engines reach directly.
  virtual std::shared_ptr<PageSource> pinned_pages() = 0;
  /// Fences of this device's streams; null where every stream is the host's.
  virtual std::shared_ptr<FenceSource> fences() = 0;

  /// What opening the device took (context, modules, handles), and room for what comes later.
  virtual Bytes runtime() const = 0;
  virtual std::optional<Bytes> process_used() const = 0;
  /// What a limit that nobody stated must leave to the process itself.
  virtual Bytes process_reserve() const { return 0; }
  /// See Device::use. Unless it is overridden, unknown where process_used() is nullopt.
  virtual MemoryUse use() const;

  virtual StreamId make_stream() = 0;
  virtual void release_stream(StreamId stream) noexcept { (void)stream; }
  virtual void synchronize(StreamId stream) = 0;
  virtual void synchronize() = 0;
  virtual void copy(void* to, const void* from, Bytes bytes, StreamId stream) = 0;
  /// See Device::copy_strided.
  virtual bool copy_strided(void* to, const void* from, Bytes item,
                            std::span<const StridedDim> dims, StreamId stream) {
    (void)to;
    (void)from;
    (void)item;
    (void)dims;
    (void)stream;
    return false;
  }
  /// See Device::fill_zero. Unless it is overridden, a first piece comes from the host and copies
  /// double it.
  virtual void fill_zero(void* to, Bytes bytes, StreamId stream);

  /// See Device::fence, Device::wait and Device::make_timer. Unless they are overridden the host
  /// waits for the stream: right for streams that are the host's.
  virtual std::shared_ptr<Fence> fence(StreamId stream);
  virtual void wait(StreamId stream, Fence& fence) {
    (void)stream;
    fence.wait();
  }
  virtual std::unique_ptr<StreamTimer> make_timer(StreamId stream);
  /// See ProfilerRange.
  virtual void push_range(std::string_view name) { (void)name; }
  virtual void pop_range() noexcept {}

  /// See Device::queue, DeviceScope and Device::record.
  virtual void* queue(StreamId stream) {
    (void)stream;
    return nullptr;
  }
  virtual void enter() {}
  virtual void leave() noexcept {}
  /// `take` is asked where the driver will take more for recordings than runtime() has: it charges
  /// so many bytes, for as long as the device is open, or says false. Then nothing is recorded.
  virtual std::unique_ptr<Recording> record(StreamId stream, const std::function<void()>& work,
                                            const std::function<bool(Bytes)>& take) {
    (void)stream;
    (void)work;
    (void)take;
    return nullptr;
  }

  /// What its libraries choose, and are to choose: see library_choices() and prefer_choices(). Null
  /// where kernels leave no choice.
  virtual ChoiceTable* choice_table() { return nullptr; }
};

}  // namespace plimsoll

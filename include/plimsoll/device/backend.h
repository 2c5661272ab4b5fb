#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <plimsoll/device/device.h>
#include <plimsoll/memory/fence.h>
#include <plimsoll/memory/page_source.h>

namespace plimsoll {

namespace ops {
class KernelTable;
}

/// What a kind of device must bring: pages, streams, copies and its own figures. One object is one
/// opened device. The CPU's is in src/device, CUDA's in src/backend/cuda. Thread-safe.
class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;

  virtual DeviceInfo info() const = 0;
  virtual DeviceKind kind() const = 0;

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
};

/// The CUDA side of the product: a shared library of its own that is loaded when first needed.
class CudaModule {
 public:
  virtual ~CudaModule() = default;
  virtual int device_count() = 0;
  /// Reads a device's description without making a context.
  virtual DeviceInfo describe(int ordinal) = 0;
  virtual std::shared_ptr<DeviceBackend> open(int ordinal) = 0;
  /// How ops run on its devices; null where it brings none. Lives as long as the module.
  virtual const ops::KernelTable* kernels() { return nullptr; }
};

/// The module, loaded at the first call; null where there is none, and `why` says why: built
/// without CUDA, no driver, no device. Thread-safe.
CudaModule* cuda_module(std::string* why);

/// The name of the function that the CUDA library exports. It returns the module, or null and a
/// reason in `why`.
inline constexpr const char* kCudaModuleSymbol = "plimsoll_cuda_module";
using CudaModuleFunction = CudaModule* (*)(std::string* why);

}  // namespace plimsoll

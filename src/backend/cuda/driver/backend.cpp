#include "backend/cuda/driver/backend.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

#include <plimsoll/base/error.h>

#include "backend/cuda/driver/context.h"
#include "backend/cuda/driver/cuda_pages.h"
#include "backend/cuda/driver/nvml.h"
#include "backend/cuda/driver/nvtx.h"
#include "backend/cuda/driver/opening.h"
#include "backend/cuda/driver/pinned_pages.h"
#include "backend/cuda/driver/recording.h"
#include "backend/cuda/driver/streams.h"
#include "backend/cuda/kernels/strided_copy.h"
#include "backend/cuda/libraries/libraries.h"

namespace plimsoll::cuda {
namespace {

void check(const Driver& driver, CUresult result, const char* call, int ordinal) {
  if (result == CUDA_SUCCESS) return;
  throw DeviceError("[" + std::string(call) + "] cuda:" + std::to_string(ordinal) + ": " +
                    driver.describe(result));
}

NvmlDevice nvml_device(const Driver& driver, int ordinal) {
  std::array<char, 32> id{};
  CUdevice device = 0;
  check(driver, driver.cuDeviceGet(&device, ordinal), "cuDeviceGet", ordinal);
  check(driver, driver.cuDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), device),
        "cuDeviceGetPCIBusId", ordinal);
  return NvmlDevice(id.data());
}

class CudaBackend final : public DeviceBackend {
 public:
  CudaBackend(const Driver& driver, int ordinal) : nvml_(nvml_device(driver, ordinal)) {
    const Reading before{.process = nvml_.process_used(), .free = nvml_.free()};
    context_ = std::make_shared<Context>(driver, ordinal);
    require_virtual_memory();
    pages_ = make_cuda_pages(context_);
    pinned_ = make_pinned_pages(context_);
    streams_ = std::make_shared<StreamTable>(context_);
    recordings_ = RecordingRoom::of(ordinal);
    libraries_ = Libraries::open(context_);
    touch();
    const Reading after = read();
    const MemoryUse taken = taken_between(before, after, memory().total);
    usage_ = taken.source;
    const Bytes taken_now = most_so_far(ordinal, taken.bytes);
    runtime_ = taken_now + kTakenLater;
    empty_ = after.free.value_or(0) + taken_now;
  }

  DeviceInfo info() const override {
    DeviceInfo info = describe_device(context_->driver(), context_->ordinal());
    info.free = memory().free;
    info.usage = usage_;
    return info;
  }
  std::shared_ptr<PageSource> pages() override { return pages_; }
  std::shared_ptr<PageSource> pinned_pages() override { return pinned_; }
  std::shared_ptr<FenceSource> fences() override { return streams_; }
  // The driver keeps what others have had recorded, for whoever opens the device now.
  Bytes runtime() const override { return runtime_ + recordings_->beyond(); }
  std::optional<Bytes> process_used() const override { return nvml_.process_used(); }
  MemoryUse use() const override { return use_of(read(), empty_); }
  StreamId make_stream() override { return streams_->make(); }
  void release_stream(StreamId stream) noexcept override { streams_->release(stream); }
  void synchronize(StreamId stream) override { streams_->synchronize(stream); }

  void synchronize() override { streams_->synchronize(); }

  void copy(void* to, const void* from, Bytes bytes, StreamId stream) override {
    const Driver& driver = context_->driver();
    const CUstream queue = streams_->get(stream);
    const Context::Scope scope(*context_);
    auto target = reinterpret_cast<std::uintptr_t>(to);
    auto source = reinterpret_cast<std::uintptr_t>(from);
    // The driver finds out by itself which side is where. Synchronous copies of its own may
    // return before the device has the data, hence a stream and a wait for the host's, too.
    for (Bytes left = bytes; left != 0;) {
      const Bytes piece = std::min({left, registered_run(target), registered_run(source)});
      context_->check(driver.cuMemcpyAsync(target, source, piece, queue), "cuMemcpyAsync");
      target += piece;
      source += piece;
      left -= piece;
    }
    if (stream == kHostStream) {
      context_->check(driver.cuStreamSynchronize(queue), "cuStreamSynchronize");
    }
  }

  bool copy_strided(void* to, const void* from, Bytes item, std::span<const StridedDim> dims,
                    StreamId stream) override {
    const auto size = static_cast<std::int64_t>(item);
    std::array<CopyDim, kMaxRank> apart;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      apart[i] = {dims[i].extent, dims[i].to / size, dims[i].from / size};
    }
    const CUstream queue = streams_->get(stream);
    const Context::Scope scope(*context_);
    cuda::copy_strided(to, from, item, {apart.data(), dims.size()}, queue);
    if (stream == kHostStream) {
      context_->check(context_->driver().cuStreamSynchronize(queue), "cuStreamSynchronize");
    }
    return true;
  }

  void fill_zero(void* to, Bytes bytes, StreamId stream) override {
    if (bytes == 0) return;
    const CUstream queue = streams_->get(stream);
    const Context::Scope scope(*context_);
    context_->check(
        context_->driver().cuMemsetD8Async(reinterpret_cast<std::uintptr_t>(to), 0, bytes, queue),
        "cuMemsetD8Async");
    if (stream == kHostStream) {
      context_->check(context_->driver().cuStreamSynchronize(queue), "cuStreamSynchronize");
    }
  }

  void* queue(StreamId stream) override { return streams_->get(stream); }
  void enter() override { context_->push(); }
  void leave() noexcept override { context_->pop(); }
  std::unique_ptr<Recording> record(StreamId stream, const std::function<void()>& work,
                                    const std::function<bool(Bytes)>& take) override {
    const StreamTable::Capture capture(*streams_, stream);
    return make_recording(context_, streams_->get(stream), work, recordings_, take);
  }
  std::shared_ptr<Fence> fence(StreamId stream) override { return streams_->fence(stream); }
  void wait(StreamId stream, Fence& fence) override { streams_->wait(stream, fence); }
  std::unique_ptr<StreamTimer> make_timer(StreamId stream) override {
    return streams_->make_timer(stream);
  }
  ChoiceTable* choice_table() override { return &libraries_->choices(); }
  void push_range(std::string_view name) override { nvtx::push(name); }
  void pop_range() noexcept override { nvtx::pop(); }

 private:
  struct Memory {
    std::size_t free = 0;
    std::size_t total = 0;
  };

  Memory memory() const {
    const Context::Scope scope(*context_);
    Memory memory;
    context_->check(context_->driver().cuMemGetInfo(&memory.free, &memory.total), "cuMemGetInfo");
    return memory;
  }

  /// Bytes from `address` on that one copy may cover.
  Bytes registered_run(std::uintptr_t address) const {
    const std::uintptr_t end = pinned_->end_of_registration(address);
    return end == 0 ? kUnlimited : end - address;
  }

  void require_virtual_memory() const {
    int supported = 0;
    context_->check(context_->driver().cuDeviceGetAttribute(
                        &supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                        context_->device()),
                    "cuDeviceGetAttribute");
    if (supported == 0) {
      throw DeviceError("[Device::open] " + context_->name() +
                        " has no virtual memory management; Plimsoll needs it on a GPU");
    }
  }

  /// Uses once, and gives back, what the driver loads when it is first used.
  void touch() {
    const Driver& driver = context_->driver();
    const Context::Scope scope(*context_);
    const Bytes page = pages_->page_size();
    const AddressRange device = pages_->reserve(page);
    pages_->map(device, page);
    const Bytes host_page = pinned_->page_size();
    const AddressRange host = pinned_->reserve(host_page);
    pinned_->map(host, host_page);
    std::memset(reinterpret_cast<void*>(host.begin), 0, 4096);

    CUstream queue = nullptr;
    context_->check(driver.cuStreamCreate(&queue, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    context_->check(driver.cuMemsetD8Async(device.begin, 0, 4096, queue), "cuMemsetD8Async");
    context_->check(driver.cuStreamSynchronize(queue), "cuStreamSynchronize");
    for (const std::uintptr_t target : {host.begin, device.begin}) {
      const std::uintptr_t source = target == host.begin ? device.begin : host.begin;
      copy(reinterpret_cast<void*>(target), reinterpret_cast<const void*>(source), 4096,
           kHostStream);
    }
    std::array<char, 4096> pageable{};
    copy(reinterpret_cast<void*>(device.begin), pageable.data(), pageable.size(), kHostStream);
    synchronize();
    libraries_->touch(reinterpret_cast<void*>(device.begin), page, queue);
    const auto clear = [&] {
      context_->check(driver.cuMemsetD8Async(device.begin, 0, 4096, queue), "cuMemsetD8Async");
    };
    const auto no_more = [](Bytes) { return false; };
    if (const auto one = make_recording(context_, queue, clear, recordings_, no_more)) {
      one->replay();
    }

    context_->check(driver.cuStreamDestroy(queue), "cuStreamDestroy");
    pinned_->unmap(host);
    pinned_->release(host);
    pages_->unmap(device);
    pages_->release(device);
  }

  /// The runtime library keeps a device's context when its last user has gone, so that opening it
  /// again takes less than the first time; what it holds is what the first time took.
  static Bytes most_so_far(int ordinal, Bytes taken) {
    static std::mutex mutex;
    static std::map<int, Bytes> most;
    const std::lock_guard lock(mutex);
    return most[ordinal] = std::max(most[ordinal], taken);
  }

  /// The management library's figures where it tells; two of free memory are comparable, as one
  /// device always has them from the same place.
  Reading read() const {
    const std::optional<Bytes> free = nvml_.free();
    return {.process = nvml_.process_used(), .free = free ? *free : memory().free};
  }

  const NvmlDevice nvml_;
  std::shared_ptr<Context> context_;
  std::shared_ptr<PageSource> pages_;
  std::shared_ptr<PinnedPages> pinned_;
  std::shared_ptr<StreamTable> streams_;
  std::shared_ptr<RecordingRoom> recordings_;
  std::shared_ptr<Libraries> libraries_;
  Bytes runtime_ = 0;
  UsageSource usage_ = UsageSource::unknown;
  Bytes empty_ = 0;  ///< what is free on the device if this process holds nothing
};

}  // namespace

std::shared_ptr<DeviceBackend> open_backend(const Driver& driver, int ordinal) {
  return std::make_shared<CudaBackend>(driver, ordinal);
}

DeviceInfo describe_device(const Driver& driver, int ordinal) {
  CUdevice device = 0;
  check(driver, driver.cuDeviceGet(&device, ordinal), "cuDeviceGet", ordinal);
  std::array<char, 256> text{};
  check(driver, driver.cuDeviceGetName(text.data(), static_cast<int>(text.size()), device),
        "cuDeviceGetName", ordinal);
  std::size_t total = 0;
  check(driver, driver.cuDeviceTotalMem(&total, device), "cuDeviceTotalMem", ordinal);
  const NvmlDevice nvml = nvml_device(driver, ordinal);
  DeviceInfo info{.name = "cuda:" + std::to_string(ordinal),
                  .description = text.data(),
                  .total = total,
                  // Without the management library nothing tells before there is a context.
                  .free = nvml.free(),
                  .libraries = library_versions()};
  if (info.free) info.free = std::min<Bytes>(*info.free, total);
  if (nvml.hides_processes()) info.usage = UsageSource::free_memory;
  return info;
}

}  // namespace plimsoll::cuda

// Two devices that are the CPU under another name, whose memory counts as out of the host's reach.
#include <plimsoll/device/backend.h>

#include <memory>
#include <string>
#include <utility>

#include <plimsoll/ops/kernel.h>

namespace plimsoll::twin {
namespace {

/// One of them. What it does not say is as DeviceBackend has it.
class TwinDevice final : public DeviceBackend {
 public:
  TwinDevice(DeviceInfo info, std::shared_ptr<DeviceBackend> cpu)
      : info_(std::move(info)), cpu_(std::move(cpu)) {}

  DeviceInfo info() const override { return info_; }

  std::shared_ptr<PageSource> pages() override { return cpu_->pages(); }
  std::shared_ptr<PageSource> pages_for(Bytes limit) override { return cpu_->pages_for(limit); }
  std::shared_ptr<PageSource> pinned_pages() override { return cpu_->pinned_pages(); }
  std::shared_ptr<FenceSource> fences() override { return nullptr; }
  Bytes runtime() const override { return 0; }
  std::optional<Bytes> process_used() const override { return cpu_->process_used(); }

  StreamId make_stream() override { return kHostStream; }
  void synchronize(StreamId stream) override { cpu_->synchronize(stream); }
  void synchronize() override {}
  void copy(void* to, const void* from, Bytes bytes, StreamId stream) override {
    cpu_->copy(to, from, bytes, stream);
  }

 private:
  DeviceInfo info_;
  std::shared_ptr<DeviceBackend> cpu_;
};

const Backend& cpu() { return *find_backend("cpu"); }

DeviceInfo describe(int ordinal) {
  DeviceInfo info = cpu().describe(0);
  info.name = "twin:" + std::to_string(ordinal);
  info.description = "a twin of the CPU";
  return info;
}

const RegisterBackend kBackend(
    {.name = "twin",
     .title = "twins",
     .count = [](std::string&) { return 2; },
     .describe = describe,
     .open = [](int ordinal, const DeviceOptions& options) -> std::shared_ptr<DeviceBackend> {
       return std::make_shared<TwinDevice>(describe(ordinal), cpu().open(0, options));
     }});

const ops::RegisterKernels kKernels("twin", [](ops::KernelTable& table) {
  for (const ops::OpDef* op : ops::all_ops()) {
    if (const ops::Kernel* kernel = ops::kernels_of("cpu").find(*op)) table.add(op->name, *kernel);
  }
});

}  // namespace
}  // namespace plimsoll::twin

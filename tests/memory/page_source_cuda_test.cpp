#include "memory/page_source_contract.h"

#include <memory>
#include <string>

#include <plimsoll/base/system.h>
#include <plimsoll/device/backend.h>

namespace plimsoll::testing {
namespace {

std::shared_ptr<DeviceBackend> open_device(std::string* why) {
  CudaModule* cuda = cuda_module(why);
  return cuda != nullptr ? cuda->open(0) : nullptr;
}

const SourceCase kCuda{
    "Cuda", [] {
      OpenedSource opened;
      const auto device = open_device(&opened.why_not);
      if (!device) return opened;
      opened.source = device->pages();
      opened.write = [device](std::uintptr_t to, const std::vector<std::uint8_t>& bytes) {
        device->copy(reinterpret_cast<void*>(to), bytes.data(), bytes.size(), kHostStream);
      };
      opened.read = [device](std::uintptr_t from, Bytes bytes) {
        std::vector<std::uint8_t> result(bytes);
        device->copy(result.data(), reinterpret_cast<const void*>(from), bytes, kHostStream);
        return result;
      };
      opened.used = [device] {
        const DeviceInfo info = device->info();
        return device->process_used().value_or(info.total - info.free.value());
      };
      opened.used_slack = MiB(16);  // page tables
      opened.make_shortage = [device] {
        const Bytes total = device->info().total;
        return OpenedSource::Shortage{align_down(total, device->pages()->page_size()), nullptr};
      };
      opened.chunked = true;
      return opened;
    }};

const SourceCase kPinned{"Pinned", [] {
                           OpenedSource opened;
                           const auto device = open_device(&opened.why_not);
                           if (!device) return opened;
                           opened.source = device->pinned_pages();
                           opened.used = [device] { return resident_bytes(); };
                           opened.used_slack = MiB(8);
                           opened.chunked = true;
                           return touchable(opened);
                         }};

INSTANTIATE_TEST_SUITE_P(Gpu, PageSourceContract, ::testing::Values(kCuda, kPinned), case_name);

}  // namespace
}  // namespace plimsoll::testing

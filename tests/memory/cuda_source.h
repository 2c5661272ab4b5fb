#pragma once

// The page sources that a GPU brings.

#include <memory>
#include <string>

#include <plimsoll/base/system.h>
#include <plimsoll/device/backend.h>

#include "memory/opened_source.h"

namespace plimsoll::testing {

/// The first GPU; null and the reason where there is none.
inline std::shared_ptr<DeviceBackend> open_gpu(std::string* why) {
  const Backend& cuda = *find_backend("cuda");
  return cuda.count(*why) > 0 ? cuda.open(0, {}) : nullptr;
}

inline const SourceCase kCuda{
    "Cuda", [] {
      OpenedSource opened;
      const auto device = open_gpu(&opened.why_not);
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

inline const SourceCase kPinned{"Pinned", [] {
                                  OpenedSource opened;
                                  const auto device = open_gpu(&opened.why_not);
                                  if (!device) return opened;
                                  opened.source = device->pinned_pages();
                                  opened.used = [device] { return resident_bytes(); };
                                  opened.used_slack = MiB(8);
                                  opened.chunked = true;
                                  return touchable(opened);
                                }};

}  // namespace plimsoll::testing

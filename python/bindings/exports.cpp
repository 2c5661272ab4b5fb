#include "exports.h"

#include <map>
#include <mutex>

namespace plimsoll::python {
namespace {

struct Counts {
  std::mutex mutex;
  std::map<std::string, std::size_t> by_device;
};
Counts& counts() {
  static auto* const all = new Counts;  // NOLINT: exports may outlive everything
  return *all;
}

}  // namespace

Export::Export(const Tensor& tensor) : device_(tensor.device().name()) {
  const std::lock_guard lock(counts().mutex);
  ++counts().by_device[device_];
}

Export::~Export() {
  const std::lock_guard lock(counts().mutex);
  const auto it = counts().by_device.find(device_);
  if (--it->second == 0) counts().by_device.erase(it);
}

std::size_t exported_from(const std::string& device) {
  const std::lock_guard lock(counts().mutex);
  std::size_t count = 0;
  for (const auto& [name, exports] : counts().by_device) {
    if (name == device || name.rfind(device + "/", 0) == 0) count += exports;
  }
  return count;
}

}  // namespace plimsoll::python

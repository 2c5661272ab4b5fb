#include <plimsoll/ops/kernel.h>

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/backend.h>

namespace plimsoll::ops {

void KernelTable::add(std::string_view op, Kernel kernel) {
  const OpDef* def = find_op(op);
  if (def == nullptr) throw InternalError(fmt::format("[KernelTable] there is no op {}", op));
  if (!kernels_.emplace(def, kernel).second) {
    throw InternalError(fmt::format("[KernelTable] two kernels for {}", op));
  }
}

const Kernel* KernelTable::find(const OpDef& op) const {
  const auto it = kernels_.find(&op);
  return it == kernels_.end() ? nullptr : &it->second;
}

void KernelTable::add_fused(std::string_view pattern, decltype(FusedKernel::run) run) {
  const FusedPattern* known = find_fused(pattern);
  if (known == nullptr) {
    throw InternalError(fmt::format("[KernelTable] there is no pattern {}", pattern));
  }
  if (std::ranges::find(fused_, known, &FusedKernel::pattern) != fused_.end()) {
    throw InternalError(fmt::format("[KernelTable] two fused kernels for {}", pattern));
  }
  fused_.push_back({known, run});
}

const KernelTable& kernels_of(DeviceKind kind) {
  if (kind == DeviceKind::cpu) return cpu_kernels();
  std::string why;
  CudaModule* module = cuda_module(&why);
  const KernelTable* table = module == nullptr ? nullptr : module->kernels();
  if (table == nullptr) throw DeviceError(fmt::format("[ops] no kernels for CUDA: {}", why));
  return *table;
}

}  // namespace plimsoll::ops

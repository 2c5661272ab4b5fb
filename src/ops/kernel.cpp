#include <plimsoll/ops/kernel.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

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
  // In the order of the patterns, in whatever order files are linked: what comes first is tried
  // first.
  const auto after = std::ranges::upper_bound(fused_, known, {}, &FusedKernel::pattern);
  fused_.insert(after, {known, run});
}

namespace {

struct Tables {
  std::mutex mutex;
  std::map<std::string, std::vector<RegisterKernels::Add>, std::less<>> added;
  std::map<std::string, KernelTable, std::less<>> made;
};

/// Never destroyed: whatever is static may still compute.
Tables& tables() {
  static auto* const the = new Tables;  // NOLINT(cppcoreguidelines-owning-memory)
  return *the;
}

/// Null if the backend has registered none.
const KernelTable* find_table(std::string_view backend) {
  Tables& of = tables();
  std::vector<RegisterKernels::Add> added;
  {
    const std::lock_guard lock(of.mutex);
    if (const auto it = of.made.find(backend); it != of.made.end()) return &it->second;
    const auto it = of.added.find(backend);
    if (it == of.added.end()) return nullptr;
    added = it->second;
  }
  // Without the lock: a backend may take kernels of another. Two threads make the same table.
  KernelTable table;
  for (const RegisterKernels::Add add : added) add(table);
  const std::lock_guard lock(of.mutex);
  return &of.made.try_emplace(std::string(backend), std::move(table)).first->second;
}

}  // namespace

RegisterKernels::RegisterKernels(std::string_view backend, Add add) {
  Tables& of = tables();
  const std::lock_guard lock(of.mutex);
  if (of.made.contains(backend)) {
    throw InternalError(fmt::format(
        "[RegisterKernels] kernels for {} after its first was looked up; load them before",
        backend));
  }
  of.added[std::string(backend)].push_back(add);
}

const KernelTable& kernels_of(std::string_view backend) {
  const KernelTable* table = find_table(backend);
  std::string why = "there is no such backend";
  if (const Backend* known = find_backend(backend); table == nullptr && known != nullptr) {
    why = "it has registered none";
    known->count(why);  // loads it, if it is in a library of its own
    table = find_table(backend);
  }
  if (table == nullptr) {
    throw DeviceError(fmt::format("[ops] no kernels for {}: {}", backend, why));
  }
  return *table;
}

const KernelTable& kernels_of(const Device& device) {
  // An eager op asks at each call, and nearly always for the device of the one before.
  thread_local const Backend* last = nullptr;
  thread_local const KernelTable* table = nullptr;
  const Backend& backend = device.backend();
  if (&backend != last) {
    table = &kernels_of(backend.name);
    last = &backend;
  }
  return *table;
}

}  // namespace plimsoll::ops

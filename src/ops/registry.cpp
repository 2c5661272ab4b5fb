#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/op_def.h>

namespace plimsoll::ops {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<const OpDef*> ops;
  bool read = false;  ///< somebody has seen them: there can be no more
};

/// Never destroyed: whatever is static may still compute.
Registry& registry() {
  static auto* const the = new Registry;  // NOLINT(cppcoreguidelines-owning-memory)
  return *the;
}

std::vector<const OpDef*> collect() {
  Registry& of = registry();
  const std::lock_guard lock(of.mutex);
  of.read = true;
  std::vector<const OpDef*> ops = of.ops;
  // Files are linked in any order.
  std::ranges::sort(ops, {}, [](const OpDef* op) { return std::pair(op->family, op->name); });
  return ops;
}

}  // namespace

RegisterOps::RegisterOps(std::span<const OpDef* const> ops) {
  Registry& of = registry();
  const std::lock_guard lock(of.mutex);
  if (of.read) {
    throw InternalError(
        "[RegisterOps] an op was looked up already; load what brings ops before the first is used");
  }
  of.ops.insert(of.ops.end(), ops.begin(), ops.end());
}

std::span<const OpDef* const> all_ops() {
  static const std::vector<const OpDef*> ops = collect();
  return ops;
}

const OpDef* find_op(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const OpDef*> map;
    for (const OpDef* op : all_ops()) {
      if (!map.emplace(op->name, op).second) {
        throw InternalError("[RegisterOps] two ops are called " + std::string(op->name));
      }
    }
    return map;
  }();
  const auto it = by_name.find(name);
  return it == by_name.end() ? nullptr : it->second;
}

}  // namespace plimsoll::ops

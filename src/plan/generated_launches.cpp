#include "plan/generated_launches.h"

#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/log.h>
#include <plimsoll/device/backend.h>
#include <plimsoll/memory/out_of_memory.h>

namespace plimsoll::plan {

bool GeneratedLaunches::possible(const Device& device) {
  return ops::pointwise_compiler(device.backend().name) != nullptr;
}

void GeneratedLaunches::compile(const Device& device, std::span<const PointwiseTasks> found,
                                const AddressOf& input, const AddressOf& output) {
  const ops::PointwiseCompiler* compiler = ops::pointwise_compiler(device.backend().name);
  if (compiler == nullptr || found.empty()) return;
  std::vector<ops::PointwiseGroup> groups;
  for (const PointwiseTasks& tasks : found) groups.push_back(tasks.group);
  try {
    program_ = compiler->compile(groups, [&](Bytes bytes) { return charge(device, bytes); });
  } catch (const DeviceError& error) {
    log_warning(
        fmt::format("[Executor] pointwise ops run one by one, as no kernels for them "
                    "could be made: {}",
                    error.what()));
  }
  if (program_ == nullptr) {
    charge_ = {};
    return;
  }
  for (const PointwiseTasks& tasks : found) {
    Launch launch{.first = tasks.first, .count = tasks.count};
    for (const TaskPlace& at : tasks.arrays) launch.arrays.push_back(input(at));
    for (const TaskPlace& at : tasks.written) launch.written.push_back(output(at));
    launches_.push_back(std::move(launch));
  }
}

/// Nobody is asked to give memory for it.
bool GeneratedLaunches::charge(const Device& device, Bytes bytes) {
  const Budget budget = device.budget();
  if (budget.available() < bytes) return false;
  try {
    charge_ = budget.charge(Tag::runtime, "compiled kernels", bytes);
  } catch (const OutOfMemory&) {  // somebody was quicker
    return false;
  }
  return true;
}

}  // namespace plimsoll::plan

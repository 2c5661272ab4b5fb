#pragma once

#include <algorithm>
#include <optional>

#include <plimsoll/base/bytes.h>
#include <plimsoll/device/usage.h>

namespace plimsoll::cuda {

/// What a device's driver says at one moment.
struct Reading {
  std::optional<Bytes> process;  ///< what this process holds on it
  std::optional<Bytes> free;     ///< what nobody does; without a context only where NVML tells
};

/// A context takes about half a GiB, libraries included. Where only free memory tells, what goes
/// beyond this is taken for somebody else's.
inline constexpr Bytes kMostRuntime = GiB(1);

/// What the driver takes later, beside what an arena maps: for recorded steps as far as
/// RecordingRoom has them free, kernels that are loaded when they first run, about 3 MiB, and
/// programs compiled at run time as far as ProgramRoom has them paid.
inline constexpr Bytes kTakenLater = MiB(18);

/// What this process took between two readings, of a device with `total` bytes, and who says so.
/// `after` has `free`.
inline MemoryUse taken_between(const Reading& before, const Reading& after, Bytes total) {
  const auto above = [](Bytes a, Bytes b) { return a > b ? a - b : 0; };
  if (after.process) {
    return {above(*after.process, before.process.value_or(0)), UsageSource::process};
  }
  // A neighbour that took or gave back memory meanwhile shows in this one.
  const Bytes fall = above(before.free.value_or(total), after.free.value_or(total));
  return {std::min(fall, kMostRuntime), UsageSource::free_memory};
}

/// What this process holds: as the driver counts it, or else by how much less is free than the
/// `empty` that were free before it took anything.
inline MemoryUse use_of(const Reading& now, Bytes empty) {
  if (now.process) return {*now.process, UsageSource::process};
  if (!now.free) return {};
  return {empty - std::min(empty, *now.free), UsageSource::free_memory};
}

}  // namespace plimsoll::cuda

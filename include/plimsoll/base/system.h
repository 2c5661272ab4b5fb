#pragma once

#include <optional>
#include <string>

#include <plimsoll/base/bytes.h>

namespace plimsoll {

// What the system gives this process, control groups included. `root` stands before /proc and
// /sys, so that tests can bring trees of their own; empty is the real system. Files that are
// missing or unreadable mean "no limit"; nothing here throws but std::bad_alloc. Thread-safe.

struct HostMemory {
  /// The smallest of the machine's memory and the limits of all control groups this process is in.
  Bytes total = 0;
  /// What could still be taken: the machine's available memory, or what is left in the tightest
  /// control group. Page cache that the kernel can drop counts as available.
  Bytes available = 0;
};

HostMemory host_memory(const std::string& root = {});

/// Address space that this process may still map (`ulimit -v`); kUnlimited where that is not
/// limited.
Bytes address_space_left();

/// What a process should leave to itself when it takes all memory it may have: the code and
/// libraries it has mapped, whose pages count as available and are still needed, 32 MiB for its
/// heap, stacks and what the kernel keeps for it, and 1/128 of what is available for page tables.
Bytes process_reserve(const std::string& root = {});

/// CPUs' worth of time that control groups allow, say 1.5: the smallest quota of all ancestors.
/// nullopt where there is none.
std::optional<double> cpu_quota(const std::string& root = {});

/// CPUs the calling thread may run on.
int affinity_cpus();

/// Threads that can be busy at once: the affinity, and not more than the quota rounded up. At
/// least 1.
int default_threads(const std::string& root = {});

/// Physical memory of this process now, and the most there has been; 0 where unknown.
Bytes resident_bytes(const std::string& root = {});
Bytes peak_resident_bytes(const std::string& root = {});

/// The processor's model as the system names it, "CPU" where it does not.
std::string cpu_model(const std::string& root = {});

}  // namespace plimsoll

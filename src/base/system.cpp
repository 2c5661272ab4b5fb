#include <plimsoll/base/system.h>

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <thread>
#include <vector>

#include "base/cgroup.h"

namespace plimsoll {
namespace {

struct GroupMemory {
  Bytes limit = kUnlimited;
  Bytes used = 0;  ///< without what the kernel can drop
};

/// `used` is what cannot be reclaimed: page cache and reclaimable slab go when memory is short.
GroupMemory read_unified(const std::string& path) {
  GroupMemory result;
  result.limit = cgroup::read_number(path + "/memory.max").value_or(kUnlimited);
  const Bytes current = cgroup::read_number(path + "/memory.current").value_or(0);
  const std::string stat = cgroup::read_file(path + "/memory.stat").value_or("");
  Bytes reclaimable = 0;
  for (const char* key : {"active_file", "inactive_file", "slab_reclaimable"}) {
    reclaimable += cgroup::find_value(stat, key).value_or(0);
  }
  result.used = current - std::min(current, reclaimable);
  return result;
}

GroupMemory read_legacy(const std::string& path) {
  GroupMemory result;
  const std::string stat = cgroup::read_file(path + "/memory.stat").value_or("");
  // The kernel's own minimum over the ancestors covers those outside of a container's view.
  result.limit =
      std::min(cgroup::read_number(path + "/memory.limit_in_bytes").value_or(kUnlimited),
               cgroup::find_value(stat, "hierarchical_memory_limit").value_or(kUnlimited));
  const Bytes current = cgroup::read_number(path + "/memory.usage_in_bytes").value_or(0);
  Bytes reclaimable = 0;
  for (const char* key : {"total_active_file", "total_inactive_file"}) {
    reclaimable += cgroup::find_value(stat, key).value_or(0);
  }
  result.used = current - std::min(current, reclaimable);
  return result;
}

std::optional<double> quota_of(const cgroup::Group& group) {
  double quota = 0;
  double period = 0;
  if (group.unified) {
    // "max 100000" or "150000 100000"
    std::istringstream text(cgroup::read_file(group.path + "/cpu.max").value_or(""));
    if (!(text >> quota >> period)) return std::nullopt;
  } else {
    // -1 is no quota, and no number here.
    const auto us = cgroup::read_number(group.path + "/cpu.cfs_quota_us");
    const auto per = cgroup::read_number(group.path + "/cpu.cfs_period_us");
    if (!us || !per) return std::nullopt;
    quota = static_cast<double>(*us);
    period = static_cast<double>(*per);
  }
  if (!(quota > 0) || !(period > 0)) return std::nullopt;
  return quota / period;
}

}  // namespace

HostMemory host_memory(const std::string& root) {
  const std::string info = cgroup::read_file(root + "/proc/meminfo").value_or("");
  HostMemory result;
  result.total = KiB(cgroup::find_value(info, "MemTotal:").value_or(0));
  // Kernels before 3.14 do not say what is available.
  const Bytes free = cgroup::find_value(info, "MemFree:").value_or(0) +
                     cgroup::find_value(info, "Cached:").value_or(0);
  result.available = KiB(cgroup::find_value(info, "MemAvailable:").value_or(free));
  for (const cgroup::Group& group : cgroup::groups("memory", root)) {
    const GroupMemory memory = group.unified ? read_unified(group.path) : read_legacy(group.path);
    if (memory.limit == kUnlimited) continue;
    result.total = std::min(result.total, memory.limit);
    result.available =
        std::min(result.available, memory.limit - std::min(memory.limit, memory.used));
  }
  result.available = std::min(result.available, result.total);
  return result;
}

Bytes address_space_left() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  std::istringstream text(cgroup::read_file("/proc/self/statm").value_or(""));
  Bytes mapped = 0;
  text >> mapped;
  mapped *= static_cast<Bytes>(sysconf(_SC_PAGESIZE));
  return limit.rlim_cur - std::min<Bytes>(limit.rlim_cur, mapped);
}

Bytes process_reserve(const std::string& root) {
  std::istringstream text(cgroup::read_file(root + "/proc/self/statm").value_or(""));
  Bytes total = 0;
  Bytes resident = 0;
  Bytes shared = 0;  // with files: code, libraries
  if (!(text >> total >> resident >> shared)) shared = 0;
  return shared * static_cast<Bytes>(sysconf(_SC_PAGESIZE)) + MiB(32) +
         host_memory(root).available / 128;
}

std::optional<double> cpu_quota(const std::string& root) {
  std::optional<double> result;
  for (const cgroup::Group& group : cgroup::groups("cpu", root)) {
    const auto quota = quota_of(group);
    if (quota) result = std::min(result.value_or(*quota), *quota);
  }
  return result;
}

int affinity_cpus() {
  // The kernel refuses a set that is smaller than its own.
  for (std::size_t cpus = 1024; cpus <= (std::size_t{1} << 20); cpus *= 2) {
    std::vector<cpu_set_t> set(cpus / CPU_SETSIZE);
    const std::size_t size = set.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, size, set.data()) == 0) {
      return std::max(1, CPU_COUNT_S(size, set.data()));
    }
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int default_threads(const std::string& root) {
  const int cpus = affinity_cpus();
  const auto quota = cpu_quota(root);
  if (!quota || *quota >= cpus) return cpus;
  return std::max(1, static_cast<int>(std::ceil(*quota)));
}

Bytes resident_bytes(const std::string& root) {
  std::istringstream text(cgroup::read_file(root + "/proc/self/statm").value_or(""));
  Bytes total = 0;
  Bytes resident = 0;
  if (!(text >> total >> resident)) return 0;
  return resident * static_cast<Bytes>(sysconf(_SC_PAGESIZE));
}

Bytes peak_resident_bytes(const std::string& root) {
  const std::string status = cgroup::read_file(root + "/proc/self/status").value_or("");
  return KiB(cgroup::find_value(status, "VmHWM:").value_or(0));
}

std::string cpu_model(const std::string& root) {
  std::istringstream lines(cgroup::read_file(root + "/proc/cpuinfo").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("model name") && !line.starts_with("Model")) continue;
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto start = line.find_first_not_of(" \t", colon + 1);
    if (start != std::string::npos) return line.substr(start);
  }
  return "CPU";
}

}  // namespace plimsoll

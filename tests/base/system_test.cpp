#include <plimsoll/base/system.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/fake_root.h"

namespace plimsoll {
namespace {

constexpr const char* kMeminfo =
    "MemTotal:       16777216 kB\nMemFree:         1048576 kB\nMemAvailable:    8388608 kB\n";
constexpr const char* kMountUnified =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

TEST(HostMemoryTest, IsTheMachinesWithoutControlGroups) {
  FakeRoot root;
  root.file("/proc/meminfo", kMeminfo);
  const HostMemory memory = host_memory(root.path());
  EXPECT_EQ(memory.total, GiB(16));
  EXPECT_EQ(memory.available, GiB(8));
}

TEST(HostMemoryTest, IsTheSmallestLimitOfAllAncestors) {
  FakeRoot root;
  root.file("/proc/meminfo", kMeminfo)
      .file("/proc/self/cgroup", "0::/system.slice/job.scope/inner\n")
      .file("/proc/self/mountinfo", kMountUnified)
      .file("/sys/fs/cgroup/system.slice/memory.max", "6442450944\n")
      .file("/sys/fs/cgroup/system.slice/memory.current", "5368709120\n")
      .file("/sys/fs/cgroup/system.slice/job.scope/memory.max", "4294967296\n")
      .file("/sys/fs/cgroup/system.slice/job.scope/memory.current", "1073741824\n")
      .file("/sys/fs/cgroup/system.slice/job.scope/inner/memory.max", "max\n")
      .file("/sys/fs/cgroup/system.slice/job.scope/inner/memory.current", "1073741824\n");
  const HostMemory memory = host_memory(root.path());
  EXPECT_EQ(memory.total, GiB(4));      // of the middle group
  EXPECT_EQ(memory.available, GiB(1));  // of the outer one, which others have filled
}

TEST(HostMemoryTest, PageCacheIsAvailable) {
  FakeRoot root;
  root.file("/proc/meminfo", kMeminfo)
      .file("/proc/self/cgroup", "0::/job\n")
      .file("/proc/self/mountinfo", kMountUnified)
      .file("/sys/fs/cgroup/job/memory.max", "4294967296\n")
      .file("/sys/fs/cgroup/job/memory.current", "4294967296\n")
      .file("/sys/fs/cgroup/job/memory.stat",
            "anon 1073741824\nfile 3221225472\nactive_file 1073741824\ninactive_file 1073741824\n"
            "workingset_activate_file 99\nslab_reclaimable 0\n");
  EXPECT_EQ(host_memory(root.path()).available, GiB(2));
}

TEST(HostMemoryTest, ReadsVersionOneAndItsHierarchicalLimit) {
  FakeRoot root;
  root.file("/proc/meminfo", kMeminfo)
      .file("/proc/self/cgroup",
            "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n1:name=systemd:/\n")
      .file("/proc/self/mountinfo",
            // The container sees its own group as the hierarchy's mount point.
            "31 23 0:27 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
            "32 23 0:28 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n")
      .file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
      .file("/sys/fs/cgroup/memory/memory.usage_in_bytes", "3221225472\n")
      .file("/sys/fs/cgroup/memory/memory.stat",
            "cache 1\nhierarchical_memory_limit 4294967296\ntotal_inactive_file 1073741824\n"
            "total_active_file 0\n")
      .file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000\n")
      .file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  const HostMemory memory = host_memory(root.path());
  EXPECT_EQ(memory.total, GiB(4));
  EXPECT_EQ(memory.available, GiB(2));
  EXPECT_DOUBLE_EQ(cpu_quota(root.path()).value(), 1.5);
}

TEST(HostMemoryTest, HybridHierarchiesUseBoth) {
  FakeRoot root;
  root.file("/proc/meminfo", kMeminfo)
      .file("/proc/self/cgroup", "4:memory:/user.slice/a\n3:cpu:/\n0::/user.slice/b\n")
      .file("/proc/self/mountinfo",
            "31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
            "32 23 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
            "41 23 0:38 / /sys/fs/cgroup/unified rw shared:4 master:1 - cgroup2 cgroup2 rw\n")
      .file("/sys/fs/cgroup/memory/user.slice/memory.limit_in_bytes", "2147483648\n")
      .file("/sys/fs/cgroup/memory/user.slice/memory.usage_in_bytes", "1073741824\n")
      .file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
      .file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
      .file("/sys/fs/cgroup/unified/user.slice/b/cpu.max", "25000 100000\n");
  EXPECT_EQ(host_memory(root.path()).total, GiB(2));
  EXPECT_EQ(host_memory(root.path()).available, GiB(1));
  EXPECT_DOUBLE_EQ(cpu_quota(root.path()).value(), 0.25);
}

TEST(HostMemoryTest, NamespacedGroupsTakeTheMountPointsLimit) {
  constexpr std::array<std::pair<const char*, const char*>, 7> kGroupsAndMountRoots = {{
      {"/", "/"},
      {"/../..", "/"},
      {"/../..", "/../.."},
      {"/../../other", "/"},
      {"/kubepods/a", "/kubepods/a"},
      {"/kubepods/ab", "/kubepods/a"},
      {"/gone (deleted)", "/"},
  }};
  for (const auto& [group, mount_root] : kGroupsAndMountRoots) {
    SCOPED_TRACE(group);
    FakeRoot root;
    root.file("/proc/meminfo", kMeminfo)
        .file("/proc/self/cgroup", std::string("0::") + group + "\n")
        .file("/proc/self/mountinfo",
              std::string("30 23 0:26 ") + mount_root + " /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
        .file("/sys/fs/cgroup/memory.max", "1073741824\n")
        .file("/sys/fs/cgroup/cpu.max", "200000 100000\n")
        .file("/memory.max", "1\n");
    EXPECT_EQ(host_memory(root.path()).total, GiB(1));
    EXPECT_DOUBLE_EQ(cpu_quota(root.path()).value(), 2);
  }
}

TEST(HostMemoryTest, MountPointsWithSpacesAreFound) {
  FakeRoot root;
  root.file("/proc/meminfo", kMeminfo)
      .file("/proc/self/cgroup", "0::/\n")
      .file("/proc/self/mountinfo", "30 23 0:26 / /my\\040groups rw - cgroup2 cgroup2 rw\n")
      .file("/my groups/memory.max", "1073741824\n");
  EXPECT_EQ(host_memory(root.path()).total, GiB(1));
}

TEST(HostMemoryTest, BrokenFilesMeanNoLimit) {
  FakeRoot root;
  root.file("/proc/meminfo", kMeminfo)
      .file("/proc/self/cgroup", "0::/\nnonsense\n7\n")
      .file("/proc/self/mountinfo", std::string("short\n\n") + kMountUnified)
      .file("/sys/fs/cgroup/memory.max", "many\n")
      .file("/sys/fs/cgroup/cpu.max", "\n");
  EXPECT_EQ(host_memory(root.path()).total, GiB(16));
  EXPECT_FALSE(cpu_quota(root.path()).has_value());
}

TEST(HostMemoryTest, ALimitBelowWhatIsUsedLeavesNothing) {
  FakeRoot root;
  root.file("/proc/meminfo", kMeminfo)
      .file("/proc/self/cgroup", "0::/\n")
      .file("/proc/self/mountinfo", kMountUnified)
      .file("/sys/fs/cgroup/memory.max", "1073741824\n")
      .file("/sys/fs/cgroup/memory.current", "2147483648\n");
  EXPECT_EQ(host_memory(root.path()).available, 0U);
}

TEST(ProcessReserve, LeavesTenSizesOfGroupsRoomForTheProcess) {
  // Recorded from `plimsoll train` of resnet18 with nothing stated in a group of 300 MiB, which is
  // what its statm said, too: the group counted 23 MiB beyond what the budget was charged, without
  // the 17 MiB of code and libraries, which another group had paid for.
  constexpr Bytes kHeldBeyond = MiB(40);
  for (const bool unified : {true, false}) {
    for (const Bytes mib : {150, 175, 200, 256, 300, 384, 512, 640, 768, 1024}) {
      FakeRoot root;
      const std::string limit = std::to_string(MiB(mib)) + "\n";
      root.file("/proc/meminfo", kMeminfo)
          .file("/proc/self/statm", "120000 6656 4206 80 0 9000 0\n");
      if (unified) {
        root.file("/proc/self/cgroup", "0::/job\n")
            .file("/proc/self/mountinfo", kMountUnified)
            .file("/sys/fs/cgroup/job/memory.max", limit)
            .file("/sys/fs/cgroup/job/memory.current", "27262976\n")
            .file("/sys/fs/cgroup/job/memory.stat",
                  "active_file 17825792\ninactive_file 2097152\nslab_reclaimable 262144\n");
      } else {
        root.file("/proc/self/cgroup", "4:memory:/job\n")
            .file("/proc/self/mountinfo",
                  "31 23 0:27 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n")
            .file("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", limit)
            .file("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "27262976\n")
            .file("/sys/fs/cgroup/memory/job/memory.stat",
                  "total_active_file 17825792\ntotal_inactive_file 2097152\n");
      }
      const HostMemory memory = host_memory(root.path());
      ASSERT_EQ(memory.total, MiB(mib));
      const Bytes reserve = process_reserve(root.path());
      ASSERT_LT(reserve, memory.available);
      const Bytes budget = memory.available - reserve;
      EXPECT_LE(budget + kHeldBeyond, MiB(mib)) << mib << (unified ? " MiB, 2" : " MiB, 1");
      EXPECT_GE(budget, MiB(mib) / 2) << mib << " MiB";
    }
  }
}

TEST(ProcessReserve, OfASystemThatTellsNothingIsTheFixedPart) {
  const FakeRoot root;
  EXPECT_EQ(process_reserve(root.path()), MiB(32));
}

TEST(DefaultThreads, RespectTheTightestQuota) {
  FakeRoot root;
  root.file("/proc/self/cgroup", "0::/a/b\n")
      .file("/proc/self/mountinfo", kMountUnified)
      .file("/sys/fs/cgroup/a/cpu.max", "50000 100000\n")
      .file("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_DOUBLE_EQ(cpu_quota(root.path()).value(), 0.5);
  EXPECT_EQ(default_threads(root.path()), 1);
}

TEST(DefaultThreads, AreTheAffinityWithoutAQuota) {
  FakeRoot root;
  EXPECT_EQ(default_threads(root.path()), affinity_cpus());
  EXPECT_GE(affinity_cpus(), 1);
}

TEST(ThisSystem, HasSaneFigures) {
  const HostMemory memory = host_memory();
  EXPECT_GT(memory.total, MiB(16));
  EXPECT_GT(memory.available, 0U);
  EXPECT_LE(memory.available, memory.total);
  EXPECT_GT(resident_bytes(), KiB(64));
  EXPECT_GE(peak_resident_bytes(), KiB(64));
  EXPECT_FALSE(cpu_model().empty());
}

TEST(ThisSystem, ResidentBytesFollowWhatIsTouched) {
  const Bytes before = resident_bytes();
  std::vector<char> block(MiB(64));
  std::fill(block.begin(), block.end(), 1);
  EXPECT_GE(resident_bytes() - before, MiB(60));
  EXPECT_GE(peak_resident_bytes(), before + MiB(60));
}

TEST(CpuModel, IsReadFromTheSystem) {
  FakeRoot root;
  EXPECT_EQ(cpu_model(root.path()), "CPU");
  root.file("/proc/cpuinfo", "processor\t: 0\nmodel\t\t: 17\nmodel name\t: Fast One 9000\n");
  EXPECT_EQ(cpu_model(root.path()), "Fast One 9000");
}

}  // namespace
}  // namespace plimsoll

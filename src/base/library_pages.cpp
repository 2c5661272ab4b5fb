#include <plimsoll/base/library_pages.h>

#ifdef __linux__
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>
#endif

namespace plimsoll {

#ifdef __linux__
namespace {

/// Addresses of a segment, in pages.
struct Segment {
  std::uintptr_t first = 0;
  std::uintptr_t end = 0;
};

std::uintptr_t page_bytes() {
  static const auto size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

/// Adds the segments of one object that nobody may write to.
int add_segments(dl_phdr_info* object, std::size_t, void* to) {
  // The kernel's own code, which is in no file.
  if (std::string_view(object->dlpi_name).starts_with("linux-")) return 0;
  auto& segments = *static_cast<std::vector<Segment>*>(to);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& header = object->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_W) != 0) continue;
    const std::uintptr_t at = object->dlpi_addr + header.p_vaddr;
    segments.push_back({at / page_bytes(), (at + header.p_memsz - 1) / page_bytes() + 1});
  }
  return 0;
}

/// What /proc/self/pagemap says of a page.
constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
constexpr std::uint64_t kSwapped = std::uint64_t{1} << 62;
constexpr std::uint64_t kOfFile = std::uint64_t{1} << 61;

/// Unmaps what is unchanged between two pages that are not. Returns the pages unmapped.
class Unmapper {
 public:
  std::uintptr_t pages() const { return pages_; }
  void see(std::uintptr_t page, std::uint64_t entry) {
    const bool present = (entry & kPresent) != 0;
    const bool changed = (entry & kSwapped) != 0 || (present && (entry & kOfFile) == 0);
    if (changed) return finish();
    if (!present) return;
    if (count_ == 0) first_ = page;
    last_ = page;
    ++count_;
  }
  void finish() {
    if (count_ == 0) return;
    void* const at = reinterpret_cast<void*>(first_ * page_bytes());  // NOLINT: an address
    if (::madvise(at, (last_ + 1 - first_) * page_bytes(), MADV_DONTNEED) == 0) pages_ += count_;
    count_ = 0;
  }

 private:
  std::uintptr_t first_ = 0;
  std::uintptr_t last_ = 0;
  std::uintptr_t count_ = 0;
  std::uintptr_t pages_ = 0;
};

}  // namespace

Bytes release_library_pages() {
  const int file = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::vector<Segment> segments;
  ::dl_iterate_phdr(add_segments, &segments);
  Unmapper unmapper;
  std::array<std::uint64_t, 512> entries{};
  for (const Segment& segment : segments) {
    for (std::uintptr_t page = segment.first; page < segment.end;) {
      const std::size_t wanted = std::min<std::size_t>(entries.size(), segment.end - page);
      const auto got = ::pread(file, entries.data(), wanted * sizeof entries[0],
                               static_cast<off_t>(page * sizeof entries[0]));
      if (got < static_cast<ssize_t>(sizeof entries[0])) break;
      const std::size_t count = static_cast<std::size_t>(got) / sizeof entries[0];
      for (std::size_t i = 0; i < count; ++i) unmapper.see(page + i, entries[i]);
      page += count;
    }
    unmapper.finish();
  }
  ::close(file);
  return static_cast<Bytes>(unmapper.pages() * page_bytes());
}
#else
Bytes release_library_pages() { return 0; }
#endif

}  // namespace plimsoll

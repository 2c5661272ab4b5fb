#include <plimsoll/memory/host_pages.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <exception>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <plimsoll/memory/page_range.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

namespace plimsoll {
namespace {

Bytes system_page() {
  static const Bytes page = static_cast<Bytes>(::sysconf(_SC_PAGESIZE));
  return page;
}

Bytes huge_page() {
  static const Bytes page = [] {
    std::ifstream file("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    Bytes bytes = 0;
    return file >> bytes && std::has_single_bit(bytes) ? bytes : MiB(2);
  }();
  return page;
}

void* pointer(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT: addresses are numbers in this layer
}

std::string system_says(int error) { return std::generic_category().message(error); }

/// madvise; 0 or an errno.
int advise(AddressRange range, int advice) {
  for (;;) {
    if (::madvise(pointer(range.begin), range.size, advice) == 0) return 0;
    if (errno != EAGAIN && errno != EINTR) return errno;
  }
}

/// mprotect; 0 or an errno.
int protect(AddressRange range, int protection) {
  return ::mprotect(pointer(range.begin), range.size, protection) == 0 ? 0 : errno;
}

int discard_part(AddressRange range) {
  const int error = advise(range, MADV_DONTNEED);
  return error == EINVAL ? advise(range, MADV_DONTNEED_LOCKED) : error;  // after mlockall
}

/// Returns the physical pages under `range` to the system; 0 or an errno.
int discard(AddressRange range, bool huge) {
  // Small pages are freed one by one, which takes tens of milliseconds per GiB. The kernel lets
  // several threads do it side by side.
  constexpr Bytes kWorthAThread = MiB(64);
  const Bytes threads =
      huge ? 1
           : std::min<Bytes>({range.size / kWorthAThread, std::thread::hardware_concurrency(), 4});
  if (threads < 2) return discard_part(range);

  const Bytes share = align_down(range.size / threads, system_page());
  std::vector<int> errors(threads, 0);
  std::vector<std::thread> helpers;
  AddressRange rest = range;
  try {
    helpers.reserve(threads);
    for (Bytes i = 1; i < threads; ++i) {
      const AddressRange part{rest.begin, share};
      helpers.emplace_back([part, &error = errors[i]] { error = discard_part(part); });
      rest = {part.end(), rest.size - share};
    }
  } catch (const std::exception&) {
    // No thread to be had: the rest is done here.
  }
  errors[0] = discard_part(rest);
  for (std::thread& helper : helpers) helper.join();
  return *std::max_element(errors.begin(), errors.end());
}

/// A reservation is one mapping of the kernel's in which only the protection differs from place to
/// place: whatever is mapped and unmapped in whichever order, neighbours with the same protection
/// merge again, so that the number of mappings (vm.max_map_count) stays that of the islands.
/// Unmapping by mmap or moving by mremap would leave pieces that never merge.
class HostPages final : public PageSource {
 public:
  explicit HostPages(const HostPagesOptions& options)
      : page_size_(options.page_size),
        populate_(options.populate),
        huge_(options.huge_pages && options.page_size >= huge_page() && huge_pages_available()) {}

  std::string name() const override { return "host"; }
  Bytes page_size() const override { return page_size_; }
  bool host_accessible() const override { return true; }
  AddressRange whole_chunks(AddressRange range) const override { return range; }
  Bytes chunk_size(std::uintptr_t) const override { return page_size_; }

  AddressRange reserve(Bytes bytes) override {
    require_whole_pages({0, bytes}, page_size_, name(), "reserve");
    if (bytes == 0) throw InternalError("[reserve] host: no bytes asked for");
    const Bytes slack = page_size_ - system_page();
    void* const taken = bytes > kUnlimited - slack
                            ? MAP_FAILED
                            : ::mmap(nullptr, bytes + slack, PROT_NONE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (taken == MAP_FAILED) {
      throw OutOfPages("[reserve] host: no address space for " + format_bytes(bytes) + ": " +
                       system_says(ENOMEM));
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(taken);
    const AddressRange range{align_up(begin, page_size_), bytes};
    // What alignment does not need goes back; failing to do so costs only addresses.
    if (range.begin > begin) ::munmap(taken, range.begin - begin);
    const std::uintptr_t end = begin + bytes + slack;
    if (end > range.end()) ::munmap(pointer(range.end()), end - range.end());

    // Small pages say no to huge ones, which can be given back only as a whole. Systems without
    // huge pages refuse either advice, and that is fine.
    (void)advise(range, huge_ ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    prime(range);
    return range;
  }

  void release(AddressRange range) override {
    require_whole_pages(range, page_size_, name(), "release");
    if (::munmap(pointer(range.begin), range.size) != 0) {
      throw OutOfPages("[release] host: " + describe(range) + ": " + system_says(errno));
    }
  }

  void map(AddressRange range, Bytes) override {
    require_whole_pages(range, page_size_, name(), "map");
    if (range.empty()) return;
    open(range, "map");
    if (const int error = populate_ ? populate(range) : 0; error != 0) {
      (void)discard(range, huge_);
      (void)protect(range, PROT_NONE);
      throw OutOfPages("[map] host: no memory for " + describe(range) + ": " + system_says(error));
    }
  }

  void unmap(AddressRange range) override {
    require_whole_pages(range, page_size_, name(), "unmap");
    if (range.empty()) return;
    close(range, "unmap");
  }

  void move(AddressRange from, AddressRange to) override {
    require_whole_pages(from, page_size_, name(), "move");
    require_whole_pages(to, page_size_, name(), "move");
    if (from.empty()) return;
    // Contents need not be kept, so pages are given back and taken anew. What can fail comes
    // first; a populated range whose new pages are refused is as before but for being populated.
    open(to, "move");
    if (const int error = discard(from, huge_); error != 0) {
      (void)protect(to, PROT_NONE);
      throw OutOfPages("[move] host: " + describe(from) + ": " + system_says(error));
    }
    if (const int error = populate_ ? populate(to) : 0; error != 0) {
      (void)discard(to, huge_);
      (void)protect(to, PROT_NONE);
      throw OutOfPages("[move] host: no memory for " + describe(to) + ": " + system_says(error));
    }
    (void)protect(from, PROT_NONE);
  }

 private:
  /// The kernel merges mappings only if their pages are registered in the same place. Touching one
  /// page makes that place for the whole reservation before it is cut up.
  static void prime(AddressRange range) {
    const AddressRange first{range.begin, system_page()};
    if (protect(first, PROT_READ | PROT_WRITE) != 0) return;
    *static_cast<volatile char*>(pointer(first.begin)) = 0;
    (void)discard_part(first);
    (void)protect(first, PROT_NONE);
  }

  void open(AddressRange range, const char* call) const {
    const int error = protect(range, PROT_READ | PROT_WRITE);
    if (error == 0) return;
    (void)protect(range, PROT_NONE);  // it may have opened a part
    throw OutOfPages("[" + std::string(call) + "] host: " + describe(range) + ": " +
                     system_says(error) +
                     "; the process may have too many mappings (vm.max_map_count)");
  }

  void close(AddressRange range, const char* call) const {
    if (const int error = discard(range, huge_); error != 0) {
      throw OutOfPages("[" + std::string(call) + "] host: " + describe(range) + ": " +
                       system_says(error));
    }
    // The memory is back. Guarding the addresses needs a mapping more where islands split; at the
    // limit of mappings they stay open, which harms nobody who does not touch them.
    (void)protect(range, PROT_NONE);
  }

  static int populate(AddressRange range) {
    const int error = advise(range, MADV_POPULATE_WRITE);
    if (error != EINVAL) return error;
    // A kernel before 5.14.
    for (std::uintptr_t at = range.begin; at < range.end(); at += system_page()) {
      *static_cast<volatile char*>(pointer(at)) = 0;
    }
    return 0;
  }

  const Bytes page_size_;
  const bool populate_;
  const bool huge_;
};

}  // namespace

std::shared_ptr<PageSource> make_host_pages(HostPagesOptions options) {
  if (!std::has_single_bit(options.page_size) || options.page_size < system_page() ||
      options.page_size > GiB(1)) {
    throw InvalidArgument("[make_host_pages] page size " + std::to_string(options.page_size) +
                          " is not a power of two from " + format_bytes(system_page()) +
                          " to 1 GiB");
  }
  return std::make_shared<HostPages>(options);
}

bool huge_pages_available() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  return std::getline(file, line) && line.find("[never]") == std::string::npos;
}

}  // namespace plimsoll

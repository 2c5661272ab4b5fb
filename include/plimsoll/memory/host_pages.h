#pragma once

#include <memory>

#include <plimsoll/memory/page_source.h>

namespace plimsoll {

struct HostPagesOptions {
  /// Granularity; a power of two and a multiple of the system's page. The default suits huge pages.
  Bytes page_size = MiB(2);
  /// Take physical memory when mapping rather than at first touch, so that a neighbour cannot take
  /// it later.
  bool populate = false;
  /// Ask for transparent huge pages. Without effect where the system has none or page_size is
  /// smaller than one.
  bool huge_pages = true;
};

/// Anonymous memory of this process through mmap. Unmapping lowers the RSS at once.
/// Throws InvalidArgument for a page size that is not a power of two or too small.
std::shared_ptr<PageSource> make_host_pages(HostPagesOptions options = {});

/// True if the system gives transparent huge pages to those who ask.
bool huge_pages_available();

}  // namespace plimsoll

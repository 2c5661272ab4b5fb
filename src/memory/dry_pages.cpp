#include <plimsoll/memory/dry_pages.h>

#include <bit>
#include <iterator>
#include <map>
#include <mutex>

#include "memory/chunk_map.h"
#include "memory/page_range.h"

namespace plimsoll {
namespace {

// Not canonical on any processor, so that touching such an address faults for certain.
constexpr std::uintptr_t kFirstAddress = std::uintptr_t{1} << 60;
constexpr std::uintptr_t kLastAddress = std::uintptr_t{1} << 62;

/// Nothing to remember of a chunk but that it is there.
struct Nothing {};

class DryPages final : public PageSource {
 public:
  explicit DryPages(Bytes page_size) : page_size_(page_size) {}

  std::string name() const override { return "dry"; }
  Bytes page_size() const override { return page_size_; }
  bool host_accessible() const override { return false; }

  AddressRange reserve(Bytes bytes) override {
    require_whole_pages({0, bytes}, page_size_, name(), "reserve");
    if (bytes == 0) throw InternalError("[reserve] dry: no bytes asked for");
    const std::lock_guard lock(mutex_);
    // Lowest gap; a gap of one page stays after each range, so that none touch.
    std::uintptr_t begin = align_up(kFirstAddress, page_size_);
    for (const auto& [at, range] : reserved_) {
      if (range.begin - begin >= bytes + page_size_) break;
      begin = range.end() + page_size_;
    }
    if (bytes > kLastAddress - begin) {
      throw OutOfPages("[reserve] dry: no addresses left for " + format_bytes(bytes));
    }
    const AddressRange range{begin, bytes};
    reserved_.emplace(begin, range);
    return range;
  }

  void release(AddressRange range) override {
    const std::lock_guard lock(mutex_);
    const auto it = reserved_.find(range.begin);
    if (it == reserved_.end() || it->second != range) {
      throw InternalError("[release] dry: " + describe(range) + " is not a reserved range");
    }
    chunks_.require_unmapped(range, "release");
    reserved_.erase(it);
  }

  void map(AddressRange range, Bytes chunk) override {
    require_reserved(range, "map");
    std::vector<ChunkMap<Nothing>::Chunk> added;
    for (const AddressRange piece : cut_into_chunks(range, page_size_, chunk)) {
      added.push_back({piece, {}});
    }
    chunks_.insert(added);
  }

  void unmap(AddressRange range) override {
    require_reserved(range, "unmap");
    (void)chunks_.find(range, "unmap");
    chunks_.erase(range);
  }

  void move(AddressRange from, AddressRange to) override {
    require_reserved(from, "move");
    require_reserved(to, "move");
    if (from.size != to.size) {
      throw InternalError("[move] dry: from " + describe(from) + " to " + describe(to));
    }
    (void)chunks_.find(from, "move");
    chunks_.require_unmapped(to, "move");
    chunks_.move(from, to);
  }

  AddressRange whole_chunks(AddressRange range) const override { return chunks_.whole(range); }
  Bytes chunk_size(std::uintptr_t at) const override { return chunks_.at(at).range.size; }

 private:
  void require_reserved(AddressRange range, const char* call) const {
    require_whole_pages(range, page_size_, name(), call);
    const std::lock_guard lock(mutex_);
    auto it = reserved_.upper_bound(range.begin);
    if (it != reserved_.begin()) {
      const AddressRange& reserved = std::prev(it)->second;
      if (range.begin <= reserved.end() && range.size <= reserved.end() - range.begin) return;
    }
    throw InternalError("[" + std::string(call) + "] dry: " + describe(range) +
                        " is not within a reserved range");
  }

  const Bytes page_size_;
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, AddressRange> reserved_;
  ChunkMap<Nothing> chunks_{"dry"};
};

}  // namespace

std::shared_ptr<PageSource> make_dry_pages(Bytes page_size) {
  if (!std::has_single_bit(page_size) || page_size > GiB(1)) {
    throw InvalidArgument("[make_dry_pages] page size " + std::to_string(page_size) +
                          " is not a power of two of at most 1 GiB");
  }
  return std::make_shared<DryPages>(page_size);
}

}  // namespace plimsoll

#include <plimsoll/memory/dry_pages.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <plimsoll/memory/page_range.h>

namespace plimsoll {
namespace {

// Not canonical on any processor, so that touching such an address faults for certain.
constexpr std::uintptr_t kFirstAddress = std::uintptr_t{1} << 60;
constexpr std::uintptr_t kLastAddress = std::uintptr_t{1} << 62;

/// Mapped addresses, as runs of chunks of one size: a range of any size costs the same.
class ChunkRuns {
 public:
  explicit ChunkRuns(Bytes page) : page_(page) {}

  void require_unmapped(AddressRange range, const char* call) const {
    auto it = runs_.lower_bound(range.end());
    if (it != runs_.begin() && std::prev(it)->second.end > range.begin) {
      fail(call, range, "is mapped already");
    }
  }

  void require_chunks(AddressRange range, const char* call) const {
    std::uintptr_t next = range.begin;
    while (next < range.end()) {
      const auto it = find(next);
      if (it == runs_.end() || (next - it->first) % it->second.chunk != 0) break;
      if (it->second.end > range.end() && (range.end() - it->first) % it->second.chunk != 0) break;
      next = std::min(it->second.end, range.end());
    }
    if (next < range.end()) fail(call, range, "is not mapped, or ends within a chunk");
  }

  /// In chunks of 32, 8 and one page as cut_into_chunks() has them.
  void insert(AddressRange range, Bytes hint) {
    AddressRange rest = range;
    for (const Bytes chunk : {32 * page_, 8 * page_, page_}) {
      if (chunk > hint && chunk != page_) continue;
      const Bytes size = rest.size / chunk * chunk;
      if (size != 0) add({rest.begin, size}, chunk);
      rest = {rest.begin + size, rest.size - size};
    }
  }

  /// `range` is whole chunks.
  void erase(AddressRange range) {
    cut(range.begin);
    cut(range.end());
    runs_.erase(runs_.lower_bound(range.begin), runs_.lower_bound(range.end()));
  }

  /// `from` is whole chunks, `to` not mapped.
  void move(AddressRange from, AddressRange to) {
    cut(from.begin);
    cut(from.end());
    std::vector<std::pair<AddressRange, Bytes>> moved;
    for (auto it = runs_.lower_bound(from.begin); it != runs_.end() && it->first < from.end();) {
      moved.push_back(
          {{to.begin + (it->first - from.begin), it->second.end - it->first}, it->second.chunk});
      it = runs_.erase(it);
    }
    for (const auto& [range, chunk] : moved) add(range, chunk);
  }

  AddressRange chunk_at(std::uintptr_t address, const char* call) const {
    const auto it = find(address);
    if (it == runs_.end()) fail(call, {address, 0}, "is not mapped");
    const Bytes chunk = it->second.chunk;
    return {it->first + (address - it->first) / chunk * chunk, chunk};
  }

 private:
  struct Run {
    std::uintptr_t end = 0;
    Bytes chunk = 0;
  };
  using Runs = std::map<std::uintptr_t, Run>;

  Runs::const_iterator find(std::uintptr_t address) const {
    const auto it = runs_.upper_bound(address);
    if (it == runs_.begin() || address >= std::prev(it)->second.end) return runs_.end();
    return std::prev(it);
  }

  /// Adds a run and joins it with its neighbours.
  void add(AddressRange range, Bytes chunk) {
    auto it = runs_.emplace(range.begin, Run{range.end(), chunk}).first;
    const auto after = std::next(it);
    if (after != runs_.end() && after->first == range.end() && after->second.chunk == chunk) {
      it->second.end = after->second.end;
      runs_.erase(after);
    }
    if (it == runs_.begin()) return;
    const auto before = std::prev(it);
    if (before->second.end == range.begin && before->second.chunk == chunk) {
      before->second.end = it->second.end;
      runs_.erase(it);
    }
  }

  /// Makes a run begin at `address` if one goes across it.
  void cut(std::uintptr_t address) {
    const auto it = runs_.lower_bound(address);
    if (it == runs_.begin() || std::prev(it)->second.end <= address) return;
    Run& run = std::prev(it)->second;
    runs_.emplace_hint(it, address, run);
    run.end = address;
  }

  [[noreturn]] static void fail(const char* call, AddressRange range, const char* what) {
    throw InternalError("[" + std::string(call) + "] dry: " + describe(range) + " " + what);
  }

  Bytes page_;
  Runs runs_;
};

class DryPages final : public PageSource {
 public:
  explicit DryPages(Bytes page_size) : page_size_(page_size), chunks_(page_size) {}

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
    const std::lock_guard lock(mutex_);
    require_reserved(range, "map");
    chunks_.require_unmapped(range, "map");
    chunks_.insert(range, chunk);
  }

  void unmap(AddressRange range) override {
    const std::lock_guard lock(mutex_);
    require_reserved(range, "unmap");
    chunks_.require_chunks(range, "unmap");
    chunks_.erase(range);
  }

  void move(AddressRange from, AddressRange to) override {
    const std::lock_guard lock(mutex_);
    require_reserved(from, "move");
    require_reserved(to, "move");
    if (from.size != to.size) {
      throw InternalError("[move] dry: from " + describe(from) + " to " + describe(to));
    }
    chunks_.require_chunks(from, "move");
    chunks_.require_unmapped(to, "move");
    chunks_.move(from, to);
  }

  AddressRange whole_chunks(AddressRange range) const override {
    if (range.empty()) return {range.begin, 0};
    const std::lock_guard lock(mutex_);
    const AddressRange first = chunks_.chunk_at(range.begin, "whole_chunks");
    const AddressRange last = chunks_.chunk_at(range.end() - 1, "whole_chunks");
    const std::uintptr_t begin = first.begin == range.begin ? first.begin : first.end();
    const std::uintptr_t end = last.end() == range.end() ? last.end() : last.begin;
    return begin < end ? AddressRange{begin, end - begin} : AddressRange{range.begin, 0};
  }

  Bytes chunk_size(std::uintptr_t at) const override {
    const std::lock_guard lock(mutex_);
    return chunks_.chunk_at(at, "chunk_size").size;
  }

 private:
  /// Needs `mutex_`.
  void require_reserved(AddressRange range, const char* call) const {
    require_whole_pages(range, page_size_, name(), call);
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
  ChunkRuns chunks_;
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

#pragma once

#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <plimsoll/memory/page_source.h>

#include <plimsoll/memory/page_range.h>

namespace plimsoll {

/// Which chunks a page source has mapped, each with what the source must remember of it (a
/// driver's handle). Throws InternalError where a caller's range is not what it says. Thread-safe.
template <class Payload>
class ChunkMap {
 public:
  struct Chunk {
    AddressRange range;
    Payload payload;
  };

  /// `source` names the page source in messages.
  explicit ChunkMap(std::string source) : source_(std::move(source)) {}

  /// Adds chunks, all or none. None of them may overlap a chunk that is there.
  void insert(const std::vector<Chunk>& chunks) {
    Chunks added;
    for (const Chunk& chunk : chunks) added.emplace(chunk.range.begin, chunk);
    const std::lock_guard lock(mutex_);
    for (const Chunk& chunk : chunks) require_free(chunk.range, "map");
    chunks_.merge(added);
  }

  /// The chunks that make up `range`, in order of address.
  std::vector<Chunk> find(AddressRange range, const char* call) const {
    const std::lock_guard lock(mutex_);
    std::vector<Chunk> found;
    std::uintptr_t next = range.begin;
    for (auto it = chunks_.lower_bound(range.begin); next < range.end(); ++it) {
      if (it == chunks_.end() || it->first != next) break;
      found.push_back(it->second);
      next = it->second.range.end();
    }
    if (next != range.end()) fail(call, range, "is not mapped, or ends within a chunk");
    return found;
  }

  /// Forgets the chunks in `range`, which find() has given.
  void erase(AddressRange range) noexcept {
    const std::lock_guard lock(mutex_);
    chunks_.erase(chunks_.lower_bound(range.begin), chunks_.lower_bound(range.end()));
  }

  /// Gives the chunks in `from`, which find() has given, the addresses of `to`.
  void move(AddressRange from, AddressRange to) noexcept {
    const std::lock_guard lock(mutex_);
    auto it = chunks_.lower_bound(from.begin);
    while (it != chunks_.end() && it->first < from.end()) {
      auto node = chunks_.extract(it++);
      node.key() = to.begin + (node.key() - from.begin);
      node.mapped().range.begin = node.key();
      chunks_.insert(std::move(node));
    }
  }

  /// True if a chunk lies in `range`, even in part.
  bool overlaps(AddressRange range) const {
    const std::lock_guard lock(mutex_);
    return overlaps_locked(range);
  }

  /// Throws unless no chunk lies in `range`.
  void require_unmapped(AddressRange range, const char* call) const {
    const std::lock_guard lock(mutex_);
    require_free(range, call);
  }

  /// The part of `range` that consists of whole chunks; its first and last byte must be mapped.
  AddressRange whole(AddressRange range) const {
    if (range.empty()) return {range.begin, 0};
    const std::lock_guard lock(mutex_);
    const AddressRange first = at_locked(range.begin, "whole_chunks").range;
    const AddressRange last = at_locked(range.end() - 1, "whole_chunks").range;
    const std::uintptr_t begin = first.begin == range.begin ? first.begin : first.end();
    const std::uintptr_t end = last.end() == range.end() ? last.end() : last.begin;
    return begin < end ? AddressRange{begin, end - begin} : AddressRange{range.begin, 0};
  }

  /// The chunk under a mapped address.
  Chunk at(std::uintptr_t address) const {
    const std::lock_guard lock(mutex_);
    return at_locked(address, "chunk_size");
  }

  /// End of the chunk under `address`, or 0 if it is not mapped.
  std::uintptr_t end_of_chunk(std::uintptr_t address) const {
    const std::lock_guard lock(mutex_);
    const Chunk* chunk = lookup(address);
    return chunk == nullptr ? 0 : chunk->range.end();
  }

 private:
  using Chunks = std::map<std::uintptr_t, Chunk>;

  const Chunk* lookup(std::uintptr_t address) const {
    auto it = chunks_.upper_bound(address);
    if (it == chunks_.begin()) return nullptr;
    const Chunk& chunk = std::prev(it)->second;
    return address < chunk.range.end() ? &chunk : nullptr;
  }

  const Chunk& at_locked(std::uintptr_t address, const char* call) const {
    const Chunk* chunk = lookup(address);
    if (chunk == nullptr) fail(call, {address, 0}, "is not mapped");
    return *chunk;
  }

  bool overlaps_locked(AddressRange range) const {
    auto it = chunks_.lower_bound(range.end());
    return it != chunks_.begin() && std::prev(it)->second.range.end() > range.begin;
  }

  void require_free(AddressRange range, const char* call) const {
    if (overlaps_locked(range)) fail(call, range, "is mapped already");
  }

  [[noreturn]] void fail(const char* call, AddressRange range, const char* what) const {
    throw InternalError("[" + std::string(call) + "] " + source_ + ": " + describe(range) + " " +
                        what);
  }

  std::string source_;
  mutable std::mutex mutex_;
  Chunks chunks_;
};

}  // namespace plimsoll

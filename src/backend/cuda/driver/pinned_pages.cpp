#include "backend/cuda/driver/pinned_pages.h"

#include <vector>

#include <plimsoll/memory/host_pages.h>

#include <plimsoll/memory/chunk_map.h>
#include <plimsoll/memory/page_range.h>

namespace plimsoll::cuda {
namespace {

class RegisteredPages final : public PinnedPages {
 public:
  explicit RegisteredPages(std::shared_ptr<Context> context)
      : context_(std::move(context)), driver_(context_->driver()), host_(make_host_pages()) {}

  std::string name() const override { return "pinned"; }
  Bytes page_size() const override { return host_->page_size(); }
  bool host_accessible() const override { return true; }
  AddressRange whole_chunks(AddressRange range) const override { return chunks_.whole(range); }
  Bytes chunk_size(std::uintptr_t at) const override { return chunks_.at(at).range.size; }
  std::uintptr_t end_of_registration(std::uintptr_t address) const override {
    return chunks_.end_of_chunk(address);
  }

  AddressRange reserve(Bytes bytes) override { return host_->reserve(bytes); }

  void release(AddressRange range) override {
    chunks_.require_unmapped(range, "release");
    host_->release(range);
  }

  void map(AddressRange range, Bytes chunk) override {
    require_whole_pages(range, page_size(), name(), "map");
    chunks_.require_unmapped(range, "map");
    if (range.empty()) return;
    const Context::Scope scope(*context_);
    std::vector<Chunk> added;
    for (const AddressRange piece : cut_into_chunks(range, page_size(), chunk)) {
      added.push_back({piece, {}});
    }
    host_->map(range, page_size());
    try {
      register_all(added, 0);
      try {
        chunks_.insert(added);
      } catch (...) {
        unregister(added, added.size(), 0);
        throw;
      }
    } catch (...) {
      host_->unmap(range);
      throw;
    }
  }

  void unmap(AddressRange range) override {
    require_whole_pages(range, page_size(), name(), "unmap");
    const std::vector<Chunk> chunks = chunks_.find(range, "unmap");
    if (range.empty()) return;
    unregister_all(chunks);
    host_->unmap(range);
    chunks_.erase(range);
  }

  void move(AddressRange from, AddressRange to) override {
    require_whole_pages(from, page_size(), name(), "move");
    require_whole_pages(to, page_size(), name(), "move");
    const std::vector<Chunk> chunks = chunks_.find(from, "move");
    chunks_.require_unmapped(to, "move");
    if (from.size != to.size) {
      throw InternalError("[move] pinned: from " + describe(from) + " to " + describe(to));
    }
    if (from.empty()) return;
    const Context::Scope scope(*context_);
    // A registration cannot be moved: the old one ends before the new one begins, so that no
    // memory is taken twice.
    unregister_all(chunks);
    bool moved = false;
    try {
      host_->move(from, to);
      moved = true;
      register_all(chunks, to.begin - from.begin);
    } catch (...) {
      if (moved) host_->move(to, from);
      register_all(chunks, 0);
      throw;
    }
    chunks_.move(from, to);
  }

 private:
  struct Nothing {};
  using Table = ChunkMap<Nothing>;
  using Chunk = Table::Chunk;

  static void* pointer(std::uintptr_t address) {
    return reinterpret_cast<void*>(address);  // NOLINT: addresses are numbers in this layer
  }

  /// Registers every chunk, `offset` bytes from where it is, or none.
  void register_all(const std::vector<Chunk>& chunks, std::uintptr_t offset) const {
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      const AddressRange range = chunks[i].range;
      const CUresult result =
          driver_.cuMemHostRegister(pointer(range.begin + offset), range.size,
                                    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
      if (result == CUDA_SUCCESS) continue;
      unregister(chunks, i, offset);
      context_->check_pages(result, "cuMemHostRegister", range.size);
    }
  }

  /// The first `count` chunks; for undoing, so it does not fail.
  void unregister(const std::vector<Chunk>& chunks, std::size_t count,
                  std::uintptr_t offset) const {
    for (std::size_t i = 0; i < count; ++i) {
      (void)driver_.cuMemHostUnregister(pointer(chunks[i].range.begin + offset));
    }
  }

  void unregister_all(const std::vector<Chunk>& chunks) const {
    if (context_->gone()) return;
    const Context::Scope scope(*context_);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      const CUresult result = driver_.cuMemHostUnregister(pointer(chunks[i].range.begin));
      // A move that could not be undone leaves pages that are not registered; they go back too.
      if (result == CUDA_SUCCESS || result == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED) continue;
      const std::vector<Chunk> done(chunks.begin(),
                                    chunks.begin() + static_cast<std::ptrdiff_t>(i));
      register_all(done, 0);
      context_->check(result, "cuMemHostUnregister");
    }
  }

  const std::shared_ptr<Context> context_;
  const Driver& driver_;
  const std::shared_ptr<PageSource> host_;
  Table chunks_{"pinned"};
};

}  // namespace

std::shared_ptr<PinnedPages> make_pinned_pages(std::shared_ptr<Context> context) {
  return std::make_shared<RegisteredPages>(std::move(context));
}

}  // namespace plimsoll::cuda

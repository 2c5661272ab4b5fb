#include "backend/cuda/driver/cuda_pages.h"

#include <bit>
#include <vector>

#include <plimsoll/memory/chunk_map.h>
#include <plimsoll/memory/page_range.h>

namespace plimsoll::cuda {
namespace {

CUmemAllocationProp allocation_properties(const Context& context) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = context.device();
  return properties;
}

class CudaPages final : public PageSource {
 public:
  explicit CudaPages(std::shared_ptr<Context> context)
      : context_(std::move(context)),
        driver_(context_->driver()),
        properties_(allocation_properties(*context_)),
        chunks_(context_->name()) {
    access_.location = properties_.location;
    access_.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    const Context::Scope scope(*context_);
    std::size_t granularity = 0;
    context_->check(driver_.cuMemGetAllocationGranularity(&granularity, &properties_,
                                                          CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                    "cuMemGetAllocationGranularity");
    page_size_ = std::bit_ceil(granularity);
  }

  std::string name() const override { return context_->name(); }
  Bytes page_size() const override { return page_size_; }
  bool host_accessible() const override { return false; }
  AddressRange whole_chunks(AddressRange range) const override { return chunks_.whole(range); }
  Bytes chunk_size(std::uintptr_t at) const override { return chunks_.at(at).range.size; }

  AddressRange reserve(Bytes bytes) override {
    require_whole_pages({0, bytes}, page_size_, name(), "reserve");
    if (bytes == 0) throw InternalError("[reserve] " + name() + ": no bytes asked for");
    const Context::Scope scope(*context_);
    CUdeviceptr begin = 0;
    const CUresult result = driver_.cuMemAddressReserve(&begin, bytes, page_size_, 0, 0);
    // The driver calls a size that is beyond its addresses invalid.
    if (result == CUDA_ERROR_OUT_OF_MEMORY || result == CUDA_ERROR_INVALID_VALUE) {
      throw OutOfPages("[cuMemAddressReserve] " + name() + ": no addresses for " +
                       format_bytes(bytes) + ": " + driver_.describe(result));
    }
    context_->check(result, "cuMemAddressReserve");
    return {begin, bytes};
  }

  void release(AddressRange range) override {
    chunks_.require_unmapped(range, "release");
    if (context_->gone()) return;
    const Context::Scope scope(*context_);
    context_->check(driver_.cuMemAddressFree(range.begin, range.size), "cuMemAddressFree");
  }

  void map(AddressRange range, Bytes chunk) override {
    require_whole_pages(range, page_size_, name(), "map");
    chunks_.require_unmapped(range, "map");
    if (range.empty()) return;
    const Context::Scope scope(*context_);
    const std::vector<AddressRange> pieces = cut_into_chunks(range, page_size_, chunk);
    std::vector<Chunk> made;
    made.reserve(pieces.size());
    try {
      for (const AddressRange piece : pieces) made.push_back({piece, create_at(piece)});
      allow_access(range);
      chunks_.insert(made);
    } catch (...) {
      for (const Chunk& each : made) {
        (void)driver_.cuMemUnmap(each.range.begin, each.range.size);
        (void)driver_.cuMemRelease(each.payload);
      }
      throw;
    }
  }

  void unmap(AddressRange range) override {
    require_whole_pages(range, page_size_, name(), "unmap");
    const std::vector<Chunk> chunks = chunks_.find(range, "unmap");
    if (range.empty()) return;
    if (context_->gone()) return chunks_.erase(range);
    const Context::Scope scope(*context_);
    // A handle that the driver does not take back is a fault of the device, not a refusal: the
    // others are returned before it is reported.
    CUresult worst = CUDA_SUCCESS;
    for (const Chunk& chunk : chunks) {
      unmap_one(chunk);
      chunks_.erase(chunk.range);
      const CUresult result = driver_.cuMemRelease(chunk.payload);
      if (result != CUDA_SUCCESS) worst = result;
    }
    context_->check(worst, "cuMemRelease");
  }

  void move(AddressRange from, AddressRange to) override {
    require_whole_pages(from, page_size_, name(), "move");
    require_whole_pages(to, page_size_, name(), "move");
    const std::vector<Chunk> chunks = chunks_.find(from, "move");
    chunks_.require_unmapped(to, "move");
    if (from.size != to.size) {
      throw InternalError("[move] " + name() + ": from " + describe(from) + " to " + describe(to));
    }
    if (from.empty()) return;
    const Context::Scope scope(*context_);
    // Physical memory can lie under two addresses at once, so the old mapping goes last and a
    // failure before that has nothing to restore.
    const auto target = [&](const Chunk& chunk) {
      return to.begin + (chunk.range.begin - from.begin);
    };
    std::size_t mapped = 0;
    try {
      for (const Chunk& chunk : chunks) {
        context_->check_pages(
            driver_.cuMemMap(target(chunk), chunk.range.size, 0, chunk.payload, 0), "cuMemMap",
            chunk.range.size);
        ++mapped;
      }
      allow_access(to);
      for (const Chunk& chunk : chunks) unmap_one(chunk);
    } catch (...) {
      for (std::size_t i = 0; i < mapped; ++i) {
        (void)driver_.cuMemUnmap(target(chunks[i]), chunks[i].range.size);
      }
      throw;
    }
    chunks_.move(from, to);
  }

 private:
  using Table = ChunkMap<CUmemGenericAllocationHandle>;
  using Chunk = Table::Chunk;

  /// New physical memory under `piece`, not yet accessible.
  CUmemGenericAllocationHandle create_at(AddressRange piece) const {
    CUmemGenericAllocationHandle handle = 0;
    context_->check_pages(driver_.cuMemCreate(&handle, piece.size, &properties_, 0), "cuMemCreate",
                          piece.size);
    const CUresult result = driver_.cuMemMap(piece.begin, piece.size, 0, handle, 0);
    if (result != CUDA_SUCCESS) (void)driver_.cuMemRelease(handle);
    context_->check_pages(result, "cuMemMap", piece.size);
    return handle;
  }

  /// The driver would take a range of several chunks in one call. That is no quicker, and initcheck
  /// loses track of what is mapped there.
  void unmap_one(const Chunk& chunk) const {
    context_->check(driver_.cuMemUnmap(chunk.range.begin, chunk.range.size), "cuMemUnmap");
  }

  /// One call for a whole range: it costs far more than the others.
  void allow_access(AddressRange range) const {
    context_->check_pages(driver_.cuMemSetAccess(range.begin, range.size, &access_, 1),
                          "cuMemSetAccess", range.size);
  }

  const std::shared_ptr<Context> context_;
  const Driver& driver_;
  const CUmemAllocationProp properties_;
  CUmemAccessDesc access_{};
  Bytes page_size_ = 0;
  Table chunks_;
};

}  // namespace

std::shared_ptr<PageSource> make_cuda_pages(std::shared_ptr<Context> context) {
  return std::make_shared<CudaPages>(std::move(context));
}

}  // namespace plimsoll::cuda

#include "data/engine/pinned_memory.h"

#include <algorithm>
#include <utility>

#include <plimsoll/memory/out_of_memory.h>
#include <plimsoll/tensor/storage.h>

namespace plimsoll::data {
namespace {

/// Where components begin in a block.
constexpr Bytes kComponentAlignment = 256;

}  // namespace

PinnedMemory::PinnedMemory(const Engine& engine, Device device, std::string title)
    : engine_(engine), device_(std::move(device)), title_(std::move(title)) {}

Block PinnedMemory::allocate(Bytes bytes, Tag tag, const std::string& label) {
  Arena* arena = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (arena_ == nullptr) {
      try {
        arena_ = device_.make_pinned_arena(engine_.budget());
      } catch (const OutOfPages&) {
        return {};
      }
    }
    arena = arena_.get();
  }
  // What is mapped already costs nobody anything.
  if (arena->stats().largest_free < bytes) {
    const Bytes pages = align_up(bytes, arena->source()->page_size());
    if (engine_.spare() < pages + engine_.reserve()) return {};
  }
  try {
    return arena->allocate(bytes, arena->budget().account(tag, label));
  } catch (const OutOfMemory&) {
  } catch (const OutOfPages&) {
  }
  return {};
}

Block PinnedMemory::buffer(Bytes bytes) { return allocate(bytes, Tag::staging, title_); }

std::optional<std::vector<Tensor>> PinnedMemory::make(std::span<const TensorType> types,
                                                      const std::string& label) {
  sweep();
  Bytes all = 0;
  for (const TensorType& type : types) all = align_up(all + type.bytes(), kComponentAlignment);
  if (all == 0) return std::nullopt;
  const auto block = std::make_shared<Block>(allocate(all, Tag::input, label));
  if (!*block) return std::nullopt;
  auto* at = static_cast<std::byte*>(block->data());
  // The last tensor that goes takes the block with it.
  const std::shared_ptr<std::byte> whole(at, [self = shared_from_this(), block](std::byte* begin) {
    {
      const std::lock_guard lock(self->mutex_);
      self->batches_.erase(begin);
    }
    block->release();
  });
  {
    const std::lock_guard lock(mutex_);
    batches_[at] = block;
  }
  std::vector<Tensor> tensors;
  for (const TensorType& type : types) {
    tensors.push_back(
        Tensor::from_storage(Storage::adopt(
                                 engine_.device(), at, type.bytes(), [whole] {}, false, label),
                             type.dtype, type.shape));
    at += align_up(type.bytes(), kComponentAlignment);
  }
  return tensors;
}

std::shared_ptr<Block> PinnedMemory::find(const Tensor& tensor) const {
  const auto* const at = static_cast<const std::byte*>(tensor.raw_data());
  const auto after = batches_.upper_bound(at);
  if (after == batches_.begin()) return nullptr;
  const auto& [begin, held] = *std::prev(after);
  std::shared_ptr<Block> block = held.lock();
  if (block == nullptr || at + tensor.nbytes() > begin + block->size()) return nullptr;
  return block;
}

bool PinnedMemory::owns(std::span<const Tensor> tensors) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::all_of(
      tensors, [&](const Tensor& each) { return each.nbytes() == 0 || find(each) != nullptr; });
}

void PinnedMemory::keep_until(std::shared_ptr<Fence> fence, std::vector<Tensor> tensors) {
  std::vector<std::shared_ptr<Block>> blocks;
  const std::lock_guard lock(mutex_);
  const Account staging = arena_->budget().account(Tag::staging, title_);
  for (const Tensor& each : tensors) {
    const std::shared_ptr<Block> block = each.nbytes() == 0 ? nullptr : find(each);
    if (block == nullptr || std::ranges::find(blocks, block) != blocks.end()) continue;
    block->recharge(staging);
    blocks.push_back(block);
  }
  flights_.push_back({std::move(fence), std::move(tensors)});
}

void PinnedMemory::sweep() {
  std::vector<Flight> arrived;  // goes without the mutex, which letting go takes
  const std::lock_guard lock(mutex_);
  const auto first = std::stable_partition(flights_.begin(), flights_.end(),
                                           [](const Flight& each) { return !each.fence->done(); });
  std::move(first, flights_.end(), std::back_inserter(arrived));
  flights_.erase(first, flights_.end());
}

Bytes PinnedMemory::release() {
  std::vector<Flight> all;
  Arena* arena = nullptr;
  {
    const std::lock_guard lock(mutex_);
    all.swap(flights_);
    arena = arena_.get();
  }
  for (const Flight& each : all) each.fence->wait();
  all.clear();
  return arena == nullptr ? 0 : arena->trim();
}

}  // namespace plimsoll::data

#include "data/engine/staging_ring.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <plimsoll/base/error.h>

namespace plimsoll::data {
namespace {

/// Where components begin in a buffer.
constexpr Bytes kAlignment = 256;

bool travels(const Value& value) { return !value.is_scalar() && value.dtype() != DType::bytes; }

}  // namespace

StagingRing::StagingRing(const Engine& engine, Device device, std::size_t slots, std::string title,
                         TensorOptions options)
    : device_(std::move(device)),
      most_(std::max<std::size_t>(slots, 1)),
      stream_(device_),
      options_(std::move(options)),
      memory_(std::make_shared<PinnedMemory>(engine, device_, std::move(title))) {
  options_.stream = stream_.id();
}

StagingRing::~StagingRing() {
  try {
    release();
  } catch (const Error&) {  // a device that has failed copies nothing any more
  }
}

bool StagingRing::grow(Slot& slot, Bytes bytes) {
  slot.block.release();
  slot.block = memory_->buffer(bytes);
  return static_cast<bool>(slot.block);
}

StagingRing::Slot* StagingRing::take(Bytes bytes) {
  auto found = std::find_if(slots_.begin(), slots_.end(), [](const Slot& slot) {
    return slot.fence == nullptr || slot.fence->done();
  });
  if (found == slots_.end() && slots_.size() < most_) {
    Slot fresh;
    if (bytes == 0 || grow(fresh, bytes)) return &slots_.emplace_back(std::move(fresh));
  }
  if (found == slots_.end()) {
    if (slots_.empty()) return nullptr;
    found = slots_.begin();
    found->fence->wait();
  }
  found->fence.reset();
  std::rotate(found, found + 1, slots_.end());
  Slot& slot = slots_.back();
  if (bytes == 0) slot.block.release();
  if (slot.block.size() >= bytes || grow(slot, bytes)) return &slot;
  slots_.pop_back();
  return nullptr;
}

Element StagingRing::send(const Element& element) {
  // Room first: what does not fit changes nothing.
  Element result;
  std::vector<Tensor> from;
  std::vector<Tensor> to;
  Bytes bytes = 0;
  bool on_host = true;
  for (const Value& value : element) {
    if (!travels(value)) {
      result.push_back(value);
      continue;
    }
    from.push_back(value.tensor().contiguous());
    const Tensor& dense = from.back();
    to.push_back(Tensor::empty(dense.shape(), dense.dtype(), device_, options_));
    result.push_back(to.back());
    bytes = align_up(bytes + dense.nbytes(), kAlignment);
    on_host = on_host && dense.storage()->host_accessible();
  }
  result.id = element.id;
  if (bytes == 0) return result;

  const bool there = on_host && memory_->owns(from);
  Slot* const slot = on_host ? take(there ? 0 : bytes) : nullptr;
  memory_->sweep();
  auto* buffer = slot == nullptr || there ? nullptr : static_cast<std::byte*>(slot->block.data());
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Bytes size = from[i].nbytes();
    const void* data = from[i].raw_data();
    if (size != 0 && buffer != nullptr) {
      data = std::memcpy(buffer, data, size);
      buffer += align_up(size, kAlignment);
    }
    if (size != 0) device_.copy(to[i].raw_mutable_data(), data, size, options_.stream);
  }
  const std::shared_ptr<Fence> fence = device_.fence(options_.stream);
  if (slot == nullptr) {
    fence->wait();
    return result;
  }
  slot->fence = fence;
  if (there) memory_->keep_until(fence, std::move(from));
  for (const Tensor& tensor : to) tensor.storage()->set_arrival(fence);
  return result;
}

Bytes StagingRing::release() {
  for (Slot& slot : slots_) {
    if (slot.fence != nullptr) slot.fence->wait();
  }
  slots_.clear();
  return memory_->release();
}

}  // namespace plimsoll::data

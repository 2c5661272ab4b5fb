#include "data/engine/staging_ring.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/out_of_memory.h>

namespace plimsoll::data {
namespace {

/// Where components begin in a buffer.
constexpr Bytes kAlignment = 256;

bool travels(const Value& value) { return !value.is_scalar() && value.dtype() != DType::bytes; }

}  // namespace

StagingRing::StagingRing(const Engine& engine, Device device, std::size_t slots, std::string title,
                         TensorOptions options)
    : engine_(engine),
      device_(std::move(device)),
      most_(std::max<std::size_t>(slots, 1)),
      title_(std::move(title)),
      stream_(device_),
      options_(std::move(options)) {
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
  try {
    if (pinned_ == nullptr) pinned_ = device_.make_pinned_arena(engine_.budget());
    const Bytes pages = align_up(bytes, pinned_->source()->page_size());
    if (engine_.spare() < pages + engine_.reserve()) return false;
    slot.block = pinned_->allocate(bytes, pinned_->budget().account(Tag::staging, title_));
  } catch (const OutOfMemory&) {
    return false;
  } catch (const OutOfPages&) {
    return false;
  }
  return true;
}

StagingRing::Slot* StagingRing::take(Bytes bytes) {
  auto found = std::find_if(slots_.begin(), slots_.end(), [](const Slot& slot) {
    return slot.fence == nullptr || slot.fence->done();
  });
  if (found == slots_.end() && slots_.size() < most_) {
    Slot fresh;
    if (grow(fresh, bytes)) return &slots_.emplace_back(std::move(fresh));
  }
  if (found == slots_.end()) {
    if (slots_.empty()) return nullptr;
    found = slots_.begin();
    found->fence->wait();
  }
  found->fence.reset();
  std::rotate(found, found + 1, slots_.end());
  if (slots_.back().block.size() >= bytes || grow(slots_.back(), bytes)) return &slots_.back();
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

  Slot* const slot = on_host ? take(bytes) : nullptr;
  auto* buffer = slot == nullptr ? nullptr : static_cast<std::byte*>(slot->block.data());
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
  for (const Tensor& tensor : to) tensor.storage()->set_arrival(fence);
  return result;
}

Bytes StagingRing::release() {
  const Bytes before = bytes();
  for (Slot& slot : slots_) {
    if (slot.fence != nullptr) slot.fence->wait();
  }
  slots_.clear();
  pinned_.reset();
  return before;
}

Bytes StagingRing::bytes() const {
  Bytes sum = 0;
  for (const Slot& slot : slots_) sum += slot.block.size();
  return sum;
}

}  // namespace plimsoll::data

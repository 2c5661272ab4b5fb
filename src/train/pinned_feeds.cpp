#include "train/pinned_feeds.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <plimsoll/memory/out_of_memory.h>

namespace plimsoll::train {
namespace {

/// A batch is staged if the budget has so many times its bytes, and half of it is free: the input
/// pipelines draw on the same.
constexpr Bytes kPlenty = 16;

}  // namespace

PinnedFeeds::PinnedFeeds(const Device& device, const Device& host)
    : device_(device), host_(host), pinned_(device.make_pinned_arena(host.budget())) {
  account_ = pinned_->budget().account(Tag::staging, "batches");
}

Tensor PinnedFeeds::stage(const Tensor& tensor, StreamId stream) {
  const Bytes bytes = tensor.nbytes();
  if (bytes == 0 || !tensor.storage()->host_accessible()) return tensor;
  const Budget budget = host_.budget();
  const Bytes limit = budget.used() + std::min(budget.available(), kUnlimited - budget.used());
  if (bytes > limit / kPlenty || budget.available() < limit / 2) return tensor;
  const Tensor dense = tensor.contiguous();
  std::shared_ptr<Block> block;
  try {
    block = std::make_shared<Block>(pinned_->allocate(bytes, account_));
  } catch (const OutOfMemory&) {
    return tensor;
  }
  std::memcpy(block->data(), dense.raw_data(), bytes);
  block->record_use(stream);
  void* const data = block->data();
  auto storage = Storage::adopt(
      host_, data, bytes, [kept = std::move(block)] {}, true, "a staged batch");
  return Tensor::from_storage(std::move(storage), tensor.dtype(), tensor.shape());
}

}  // namespace plimsoll::train

#include "function/shared_range.h"

#include <utility>
#include <vector>

namespace plimsoll {

std::shared_ptr<SharedRange> SharedRange::of(const Device& device) {
  static std::mutex mutex;
  static std::vector<std::weak_ptr<SharedRange>> known;
  const std::lock_guard lock(mutex);
  std::erase_if(known, [](const auto& each) { return each.expired(); });
  for (const auto& each : known) {
    std::shared_ptr<SharedRange> range = each.lock();
    if (range != nullptr && range->device_ == device) return range;
  }
  auto made = std::make_shared<SharedRange>(device);
  known.push_back(made);
  return made;
}

Bytes SharedRange::bytes() const {
  return (range_ == nullptr ? 0 : range_->size()) +
         (workspace_ == nullptr ? 0 : workspace_->size());
}

plan::Executor* SharedRange::find(std::uint64_t key) const {
  const auto it = executors_.find(key);
  return it == executors_.end() ? nullptr : it->second.get();
}

plan::Executor& SharedRange::add(std::uint64_t key, const plan::Plan& plan,
                                 std::function<Tensor(const graph::Value&)> bind) {
  const auto grow = [&](std::shared_ptr<Storage>& storage, Bytes bytes, Tag tag) {
    if (storage != nullptr && storage->size() >= bytes) return;
    executors_.clear();  // they know where the old one is
    storage.reset();
    storage = Storage::allocate(device_, bytes, tag, "functions");
  };
  grow(workspace_, plan.workspace, Tag::workspace);
  grow(range_, plan.range, Tag::activations);
  plan::ExecutorOptions options;
  options.range = range_;
  options.workspace = workspace_;
  options.stream = stream_.id();
  options.bind = std::move(bind);
  std::unique_ptr<plan::Executor>& made = executors_[key];
  made.reset();
  made = std::make_unique<plan::Executor>(plan, device_, options);
  return *made;
}

}  // namespace plimsoll

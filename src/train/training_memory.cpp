#include "train/training_memory.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/log.h>
#include <plimsoll/memory/out_of_memory.h>

#include "train/layout.h"

namespace plimsoll::train {

TrainingMemory::TrainingMemory(const TrainingPlan& plan, const Device& device)
    : plan_(plan),
      parent_(device),
      session_(std::make_shared<Session>(device.session("training"))),
      stream_(device) {
  if (plan.heap != 0) heap_ = device.budget().charge(Tag::runtime, "plans", plan.heap);
  for (const PackedBlock& block : plan.blocks) {
    unpack(block, persistent(block));
    // Of plain SGD there are two scalars.
    if (block.tag == Tag::optimizer && block.bytes > KiB(4)) {
      remedies_.push_back(session_->budget().remedy(
          "an optimizer with less state (plain SGD has none)", block.bytes));
    }
  }
  if (plan.offload != 0) {
    if (!plan.host_device) {
      throw InvalidArgument(
          "[fit] the plan may use the host's memory; plan with the device it comes from as "
          "`host`");
    }
    pinned_ = device.make_pinned_arena(plan.host_device->budget());
    to_host_ = OwnedStream(device);
    from_host_ = OwnedStream(device);
  }
  if (plan.away.bytes != 0) {
    unpack(plan.away, pinned(plan.away.bytes, plan.away.tag));
  }
  outputs_ = Storage::allocate(session_->device(), plan.outputs, Tag::user, "outputs");
  workspace_ = Storage::allocate(session_->device(), plan.workspace, Tag::workspace, "plan");
  if (plan.host != 0) host_ = pinned(plan.host, Tag::activations);
  take_range(plan.range);
}

TrainingMemory::~TrainingMemory() {
  remedies_.clear();
  tensors_.clear();
  outputs_.reset();
  workspace_.reset();
  range_.reset();
  host_.reset();
  // Weights keep the session open: its free pages are of no use to them.
  try {
    session_->arena().trim();
  } catch (const Error& error) {
    log_warning(fmt::format("[Trainer] {}", error.what()));
  }
}

Bytes TrainingMemory::charged() const { return session_->budget().used() + plan_.heap; }

Bytes TrainingMemory::persistent_bytes() const {
  const Bytes range = range_ == nullptr ? 0 : align_down(range_->size(), plan_.page_size);
  return charged() - std::min(charged(), range);
}

void TrainingMemory::let_range_go() {
  range_.reset();
  session_->arena().trim();
}

std::shared_ptr<Storage> TrainingMemory::persistent(const PackedBlock& block) const {
  auto storage = Storage::allocate(session_->device(), block.bytes, block.tag, block.label);
  void* data = storage->data();
  return Storage::adopt(
      parent_, data, block.bytes,
      [storage, session = session_]() mutable {
        storage.reset();
        session.reset();
      },
      false, block.label);
}

std::shared_ptr<Storage> TrainingMemory::pinned(Bytes bytes, Tag tag) const {
  const Device& host = *plan_.host_device;
  auto block =
      std::make_shared<Block>(pinned_->allocate(bytes, pinned_->budget().account(tag, "offload")));
  void* data = block->data();
  // The arena goes after what lies in it.
  return Storage::adopt(
      host, data, bytes, [block, arena = pinned_]() mutable { block.reset(); }, false, "offload");
}

void TrainingMemory::unpack(const PackedBlock& block, const std::shared_ptr<Storage>& storage) {
  for (const PackedTensor& tensor : block.tensors) {
    tensors_.emplace(tensor.name, Tensor::from_storage(storage, tensor.type.dtype,
                                                       tensor.type.shape, {}, tensor.offset));
  }
}

void TrainingMemory::take_range(Bytes bytes) {
  range_ = Storage::allocate(session_->device(), bytes, Tag::activations, "plan");
}

void TrainingMemory::take_range_again() {
  try {
    take_range(plan_.range);
  } catch (const OutOfMemory& error) {
    // No OutOfMemory: whoever catches that goes on with the old plan.
    throw Error(fmt::format(
        "[fit] {} were let go to make a new plan, and others took them meanwhile; free memory on "
        "{} or raise its limit, and call again\n{}",
        format_bytes(plan_.range), parent_.name(), error.what()));
  }
}

Tensor TrainingMemory::find(const std::string& name) const {
  const auto it = tensors_.find(name);
  return it == tensors_.end() ? Tensor() : it->second;
}

bool TrainingMemory::serves(const TrainingPlan& plan) const {
  if (!plan.target || *plan.target != parent_ || plan.outputs != plan_.outputs ||
      plan.workspace != plan_.workspace || plan.blocks.size() != plan_.blocks.size() ||
      plan.host_device != plan_.host_device ||
      !std::ranges::equal(plan.away.tensors, plan_.away.tensors, {}, &PackedTensor::name,
                          &PackedTensor::name) ||
      (plan.offload != 0) != (plan_.offload != 0)) {
    return false;
  }
  for (std::size_t i = 0; i < plan.blocks.size(); ++i) {
    if (plan.blocks[i].tag != plan_.blocks[i].tag ||
        plan.blocks[i].bytes != plan_.blocks[i].bytes) {
      return false;
    }
  }
  return true;
}

bool TrainingMemory::covers(const TrainingPlan& plan) const {
  return std::ranges::all_of(plan.phases, [this](const Phase& phase) {
    const Phase* here = plan_.find(phase.kind, phase.batch);
    return here != nullptr && here->parts == phase.parts;
  });
}

bool TrainingMemory::holds(const TrainingPlan& plan) const {
  return plan.target && *plan.target == parent_ && plan.range == plan_.range &&
         plan.host == plan_.host && !plan.phases.empty() && !plan_.phases.empty() &&
         plan.phases.front().steps == plan_.phases.front().steps;
}

void TrainingMemory::replan(const TrainingPlan& plan) {
  // The host's first, beside the old one: pipelines may take at once what is let go there.
  std::shared_ptr<Storage> host = plan.host == 0 ? nullptr : host_;
  if (plan.host != 0 && (host == nullptr || host->size() < plan.host)) {
    host = pinned(plan.host, Tag::activations);
  }
  if (range_ == nullptr || plan.range != range_->size()) {
    const std::weak_ptr<Storage> old = range_;
    range_.reset();
    session_->arena().trim();
    try {
      take_range(plan.range);
    } catch (const OutOfMemory&) {
      range_ = old.lock();  // it is still there if somebody runs in it
      if (range_ == nullptr) take_range_again();
      throw;
    }
  }
  host_ = std::move(host);
  if (pinned_ != nullptr) pinned_->trim();
  plan_ = plan;
}

plan::ExecutorOptions TrainingMemory::options(bool average) {
  if (range_ == nullptr) take_range(plan_.range);
  plan::ExecutorOptions options;
  options.range = range_;
  options.workspace = workspace_;
  options.outputs = outputs_;
  options.host = host_;
  options.stream = stream_.id();
  options.to_host = to_host_.id();
  options.from_host = from_host_.id();
  options.bind = [this, average](const graph::Value& value) {
    if (average) {
      Tensor mean = find(kAveragePrefix + value.name);
      if (mean.defined()) return mean;
    }
    return find(value.name);
  };
  return options;
}

std::unique_ptr<plan::Executor> TrainingMemory::executor(const plan::Plan& step, bool average,
                                                         const std::shared_ptr<Storage>& outputs) {
  plan::ExecutorOptions with = options(average);
  if (outputs != nullptr) with.outputs = outputs;
  return std::make_unique<plan::Executor>(step, parent_, with);
}

std::vector<double> TrainingMemory::measure(const plan::Plan& step) {
  return plan::measure_nodes(step, parent_, options(false));
}

}  // namespace plimsoll::train

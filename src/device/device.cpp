#include <plimsoll/device/device.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/out_of_memory.h>

#include "device/device_state.h"

namespace plimsoll {

void Device::State::require_open(const char* who) const {
  if (closed) throw Error(fmt::format("[{}] session {} is closed", who, name));
}

std::vector<std::shared_ptr<Device::State>> Device::State::live_children() {
  std::vector<std::shared_ptr<State>> result;
  std::erase_if(children, [&](const std::weak_ptr<State>& child) {
    auto alive = child.lock();
    if (alive == nullptr) return true;
    result.push_back(std::move(alive));
    return false;
  });
  return result;
}

Bytes Device::State::lowest_limit() const {
  Bytes lowest = kUnlimited;
  for (const State* s = this; s != nullptr; s = s->parent.get()) {
    lowest = std::min(lowest, s->budget.limit());
  }
  return lowest;
}

Bytes Device::State::promised() {
  Bytes sum = 0;
  for (const auto& child : live_children()) {
    const Bytes limit = child->budget.limit();
    const Bytes more =
        child->logical ? limit - std::min(limit, child->budget.used()) : child->promised();
    sum += std::min(more, kUnlimited - sum);
  }
  return sum;
}

Bytes Device::State::unpromised() {
  Bytes room = budget.available();
  for (State* s = this; s != nullptr; s = s->parent.get()) {
    const Bytes limit = s->budget.limit();
    if (limit != kUnlimited) {
      const Bytes left = limit - std::min(limit, s->budget.used());
      room = std::min(room, left - std::min(left, s->promised()));
    }
    if (s->logical) break;  // what lies around it has promised it the rest
  }
  return room;
}

void Device::State::close() {
  std::vector<std::shared_ptr<State>> below;
  {
    const std::lock_guard lock(*mutex);
    closed = true;
    below = live_children();
  }
  for (const auto& child : below) child->close();
  arena->close();
}

std::shared_ptr<Device::State> Device::State::make_child(const std::shared_ptr<State>& parent,
                                                         std::string name, Budget budget,
                                                         bool logical) {
  auto state = std::make_shared<State>(std::move(name), parent->backend, parent, std::move(budget));
  state->trace = parent->trace;
  state->baseline = parent->baseline;
  state->ordinal = parent->ordinal;
  state->logical = logical;
  const Bytes limit = state->lowest_limit();
  state->arena = std::make_unique<Arena>(
      state->backend->pages_for(limit), state->budget,
      ArenaOptions{.fences = state->backend->fences(), .trace = state->trace});
  return state;
}

const std::string& Device::name() const { return state_->name; }
DeviceKind Device::kind() const { return state_->backend->kind(); }
int Device::ordinal() const { return state_->ordinal; }
bool Device::closed() const { return state_->closed; }

DeviceInfo Device::info() const {
  DeviceInfo info = state_->backend->info();
  if (state_->parent == nullptr) return info;
  info.name = state_->name;
  info.total = std::min(info.total, state_->budget.limit());
  if (info.free) info.free = std::min(*info.free, state_->budget.available());
  return info;
}

Budget Device::budget() const { return state_->budget; }
Arena& Device::arena() const { return *state_->arena; }

Block Device::allocate(Bytes bytes, Tag tag, std::string_view label, StreamId stream) const {
  state_->require_open("Device::allocate");
  return state_->arena->allocate(bytes, state_->budget.account(tag, label), stream);
}

std::vector<Device> Device::split(const std::vector<Bytes>& limits) const {
  if (limits.empty()) throw InvalidArgument("[Device::split] no limits; give one per device");
  Bytes wanted = 0;
  for (const Bytes limit : limits) {
    if (limit == 0) throw InvalidArgument("[Device::split] a limit of 0; give at least a few MiB");
    if (__builtin_add_overflow(wanted, limit, &wanted)) wanted = kUnlimited;
  }
  const std::lock_guard lock(*state_->mutex);
  state_->require_open("Device::split");
  const auto siblings = state_->live_children();
  // What earlier splits were promised and have not taken yet is spoken for.
  if (wanted > state_->unpromised()) state_->arena->trim();
  if (const Bytes room = state_->unpromised(); wanted > room) {
    throw BudgetTooSmall(fmt::format(
        "[Device::split] {} logical devices with {} together on {}, where {} of {} are to be had; "
        "lower their limits or raise that of {}",
        limits.size(), format_bytes(wanted), state_->name, format_bytes(room),
        format_bytes(state_->lowest_limit()), state_->name));
  }
  std::vector<Device> devices;
  int index = 0;
  for (const Bytes limit : limits) {
    std::string name;
    do {
      name = fmt::format("{}/{}", state_->name, index++);
    } while (std::any_of(siblings.begin(), siblings.end(),
                         [&](const auto& sibling) { return sibling->name == name; }));
    Budget budget = state_->budget.child(name.substr(state_->name.size() + 1), limit);
    // The budget's name differs where someone made a child of that name by hand.
    name = budget.path();
    devices.push_back(Device(State::make_child(state_, name, std::move(budget), true)));
  }
  for (const Device& device : devices) state_->children.push_back(device.state_);
  return devices;
}

Bytes Device::runtime() const {
  return state_->parent == nullptr ? state_->runtime_charge.bytes() : 0;
}
std::optional<Bytes> Device::process_used() const { return state_->backend->process_used(); }
MemoryUse Device::use() const { return state_->backend->use(); }
Bytes Device::baseline() const { return state_->baseline; }

void Device::copy(void* to, const void* from, Bytes bytes, StreamId stream) const {
  state_->backend->copy(to, from, bytes, stream);
}

bool Device::copy_strided(void* to, const void* from, Bytes item, std::span<const StridedDim> dims,
                          StreamId stream) const {
  return state_->backend->copy_strided(to, from, item, dims, stream);
}

void Device::fill_zero(void* to, Bytes bytes, StreamId stream) const {
  state_->backend->fill_zero(to, bytes, stream);
}

void Device::release_stream(StreamId stream) const noexcept {
  state_->backend->release_stream(stream);
}
bool Device::same_backend(const Device& other) const {
  return state_->backend == other.state_->backend;
}
StreamId Device::make_stream() const { return state_->backend->make_stream(); }
void Device::synchronize(StreamId stream) const { state_->backend->synchronize(stream); }
void Device::synchronize() const { state_->backend->synchronize(); }
void* Device::queue(StreamId stream) const { return state_->backend->queue(stream); }

std::shared_ptr<Fence> Device::fence(StreamId stream) const {
  return state_->backend->fence(stream);
}
void Device::wait(StreamId stream, const std::shared_ptr<Fence>& fence) const {
  if (stream == kHostStream) {
    fence->wait();
  } else {
    state_->backend->wait(stream, *fence);
  }
}
std::unique_ptr<StreamTimer> Device::make_timer(StreamId stream) const {
  return state_->backend->make_timer(stream);
}

std::unique_ptr<Recording> Device::record(StreamId stream,
                                          const std::function<void()>& work) const {
  State* root = state_.get();
  while (root->parent != nullptr) root = root->parent.get();
  // The driver keeps it whichever scope closes. Nobody is asked to give memory for it.
  return state_->backend->record(stream, work, [root](Bytes bytes) {
    {
      const std::lock_guard lock(*root->mutex);
      if (root->unpromised() < bytes) return false;
    }
    try {
      Charge charge = root->budget.charge(Tag::runtime, "recorded steps", bytes);
      const std::lock_guard lock(*root->mutex);
      root->recordings.push_back(std::move(charge));
    } catch (const OutOfMemory&) {  // somebody was quicker
      return false;
    }
    return true;
  });
}

DeviceScope::DeviceScope(const Device& device) : device_(device) {
  device_.state_->backend->enter();
}
DeviceScope::~DeviceScope() { device_.state_->backend->leave(); }

ProfilerRange::ProfilerRange(const Device& device, std::string_view name)
    : backend_(*device.state_->backend) {
  backend_.push_range(name);
}
ProfilerRange::~ProfilerRange() { backend_.pop_range(); }

std::unique_ptr<Arena> Device::make_pinned_arena(const Budget& budget) const {
  return std::make_unique<Arena>(
      state_->backend->pinned_pages(), budget.child("pinned"),
      ArenaOptions{.fences = state_->backend->fences(), .trace = nullptr});
}

}  // namespace plimsoll

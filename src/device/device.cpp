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

void Device::State::close() {
  std::vector<std::shared_ptr<State>> below;
  {
    const std::lock_guard lock(*mutex);
    closed = true;
    below = live_children();
  }
  for (const auto& child : below) child->close();
  arena->close();
  Guarantee ended;
  const std::lock_guard lock(*mutex);
  std::swap(ended, guarantee);
}

std::shared_ptr<Device::State> Device::State::make_child(const std::shared_ptr<State>& parent,
                                                         std::string name, Budget budget) {
  auto state = std::make_shared<State>(std::move(name), parent->backend, parent, std::move(budget));
  state->trace = parent->trace;
  state->baseline = parent->baseline;
  state->ordinal = parent->ordinal;
  const Bytes limit = state->lowest_limit();
  state->arena = std::make_unique<Arena>(
      state->backend->pages_for(limit), state->budget,
      ArenaOptions{.fences = state->backend->fences(), .trace = state->trace});
  return state;
}

Device::State& Device::state(const char* who) const {
  if (state_ == nullptr) {
    throw InvalidArgument(fmt::format("[Device::{}] this Device was moved from", who));
  }
  return *state_;
}

const std::string& Device::name() const { return state("name").name; }
const Backend& Device::backend() const { return state("backend").kind; }
const Capabilities& Device::capabilities() const { return state("capabilities").kind.capabilities; }
int Device::ordinal() const { return state("ordinal").ordinal; }
bool Device::closed() const { return state("closed").closed; }

DeviceInfo Device::info() const {
  DeviceInfo info = state("info").backend->info();
  if (state_->parent == nullptr) return info;
  info.name = state_->name;
  info.total = std::min(info.total, state_->budget.limit());
  if (info.free) info.free = std::min(*info.free, state_->budget.available());
  return info;
}

Budget Device::budget() const { return state("budget").budget; }
Bytes Device::page_size(Bytes limit) const {
  return state("page_size").backend->pages_for(limit)->page_size();
}
Arena& Device::arena() const { return *state("arena").arena; }

Block Device::allocate(Bytes bytes, Tag tag, std::string_view label, StreamId stream) const {
  state("allocate").require_open("Device::allocate");
  return state_->arena->allocate(bytes, state_->budget.account(tag, label), stream);
}

std::vector<Device> Device::split(const std::vector<Bytes>& limits) const {
  if (limits.empty()) throw InvalidArgument("[Device::split] no limits; give one per device");
  Bytes wanted = 0;
  for (const Bytes limit : limits) {
    if (limit == 0) throw InvalidArgument("[Device::split] a limit of 0; give at least a few MiB");
    if (__builtin_add_overflow(wanted, limit, &wanted)) wanted = kUnlimited;
  }
  State& parent = state("split");
  const auto refuse = [&] {
    throw BudgetTooSmall(fmt::format(
        "[Device::split] {} logical {} with {} together on {}, where only {} of {} is available; "
        "ask for less, or raise the limit of {} with set_limit",
        limits.size(), limits.size() == 1 ? "device" : "devices", format_bytes(wanted), parent.name,
        format_bytes(parent.budget.available()), format_bytes(parent.lowest_limit()), parent.name));
  };
  if (wanted > parent.lowest_limit()) refuse();
  std::vector<Device> devices;
  {
    const std::lock_guard lock(*parent.mutex);
    parent.require_open("Device::split");
    const auto siblings = parent.live_children();
    int index = 0;
    for (const Bytes limit : limits) {
      std::string name;
      do {
        name = fmt::format("{}/{}", parent.name, index++);
      } while (std::any_of(siblings.begin(), siblings.end(),
                           [&](const auto& sibling) { return sibling->name == name; }));
      Budget budget = parent.budget.child(name.substr(parent.name.size() + 1), limit);
      // The budget's name differs where someone made a child of that name by hand.
      name = budget.path();
      devices.push_back(Device(State::make_child(state_, name, std::move(budget))));
      parent.children.push_back(devices.back().state_);
    }
  }
  // Holders that are asked to make room may open and close scopes here: without the lock.
  for (const Device& device : devices) {
    Guarantee guarantee;
    try {
      guarantee = device.state_->budget.guarantee();
    } catch (const OutOfMemory&) {
      devices.clear();
      refuse();
    }
    const std::lock_guard lock(*parent.mutex);
    parent.require_open("Device::split");
    device.state_->guarantee = std::move(guarantee);
  }
  return devices;
}

Bytes Device::runtime() const {
  return state("runtime").parent == nullptr ? state_->runtime_charge.bytes() : 0;
}
std::optional<Bytes> Device::process_used() const {
  return state("process_used").backend->process_used();
}
MemoryUse Device::use() const { return state("use").backend->use(); }
Bytes Device::baseline() const { return state("baseline").baseline; }

void Device::copy(void* to, const void* from, Bytes bytes, StreamId stream) const {
  state("copy").backend->copy(to, from, bytes, stream);
}

bool Device::copy_strided(void* to, const void* from, Bytes item, std::span<const StridedDim> dims,
                          StreamId stream) const {
  return state("copy_strided").backend->copy_strided(to, from, item, dims, stream);
}

void Device::fill_zero(void* to, Bytes bytes, StreamId stream) const {
  state("fill_zero").backend->fill_zero(to, bytes, stream);
}

void Device::release_stream(StreamId stream) const noexcept {
  if (state_ != nullptr) state_->backend->release_stream(stream);
}
bool Device::same_backend(const Device& other) const {
  return state("same_backend").backend == other.state("same_backend").backend;
}
StreamId Device::make_stream() const { return state("make_stream").backend->make_stream(); }
void Device::synchronize(StreamId stream) const {
  state("synchronize").backend->synchronize(stream);
}
void Device::synchronize() const { state("synchronize").backend->synchronize(); }
void* Device::queue(StreamId stream) const { return state("queue").backend->queue(stream); }

std::shared_ptr<Fence> Device::fence(StreamId stream) const {
  return state("fence").backend->fence(stream);
}
void Device::wait(StreamId stream, const std::shared_ptr<Fence>& fence) const {
  if (stream == kHostStream) {
    fence->wait();
  } else {
    state("wait").backend->wait(stream, *fence);
  }
}
std::unique_ptr<StreamTimer> Device::make_timer(StreamId stream) const {
  return state("make_timer").backend->make_timer(stream);
}

std::unique_ptr<Recording> Device::record(StreamId stream,
                                          const std::function<void()>& work) const {
  State* root = &state("record");
  while (root->parent != nullptr) root = root->parent.get();
  // The driver keeps it whichever scope closes. Nobody is asked to give memory for it.
  return state_->backend->record(stream, work, [root](Bytes bytes) {
    if (root->budget.available() < bytes) return false;
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
  device_.state("DeviceScope").backend->enter();
}
DeviceScope::~DeviceScope() { device_.state_->backend->leave(); }

ProfilerRange::ProfilerRange(const Device& device, std::string_view name)
    : backend_(*device.state("ProfilerRange").backend) {
  backend_.push_range(name);
}
ProfilerRange::~ProfilerRange() { backend_.pop_range(); }

std::unique_ptr<Arena> Device::make_pinned_arena(const Budget& budget) const {
  return std::make_unique<Arena>(
      state("make_pinned_arena").backend->pinned_pages(), budget.child("pinned"),
      ArenaOptions{.fences = state_->backend->fences(), .trace = nullptr});
}

}  // namespace plimsoll

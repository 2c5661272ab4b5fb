#include <memory>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/log.h>
#include <plimsoll/device/device.h>

#include "device/device_state.h"

namespace plimsoll {

Session Device::session(std::string_view name, Limit limit) const {
  if (name.empty()) throw InvalidArgument("[Device::session] a session needs a name");
  const Bytes room = state("session").lowest_limit();
  const Bytes bytes = limit.resolve(room).value_or(kUnlimited);
  if (bytes == 0) {
    throw InvalidArgument(
        fmt::format("[Device::session] a limit of 0 for \"{}\"; give at least a few MiB", name));
  }
  if (bytes != kUnlimited && bytes > room) {
    throw InvalidArgument(fmt::format("[Device::session] a limit of {} for \"{}\", but {} has {}",
                                      format_bytes(bytes), name, state_->name, format_bytes(room)));
  }
  const std::lock_guard lock(*state_->mutex);
  state_->require_open("Device::session");
  Budget budget = state_->budget.child(name, bytes);
  std::string path = budget.path();
  Device device(State::make_child(state_, std::move(path), std::move(budget)));
  state_->live_children();  // forgets those that are gone
  state_->children.push_back(device.state_);
  return Session(std::move(device));
}

Session::Session(Device device) : device_(std::make_unique<Device>(std::move(device))) {}
Session::Session(Session&&) noexcept = default;

Session& Session::operator=(Session&& other) noexcept {
  // What this one was closes with `old`.
  if (this != &other) {
    const Session old(std::move(*this));
    device_ = std::move(other.device_);
  }
  return *this;
}

Session::~Session() {
  try {
    close();
  } catch (const std::exception& error) {
    log_warning(fmt::format("closing session {}: {}", device_->name(), error.what()));
  }
}

const Device& Session::held(const char* who) const {
  if (device_ == nullptr) {
    throw InvalidArgument(fmt::format("[Session::{}] this Session was moved from", who));
  }
  return *device_;
}

const Device& Session::device() const { return held("device"); }
Budget Session::budget() const { return held("budget").budget(); }
Arena& Session::arena() const { return held("arena").arena(); }

void Session::close() {
  if (device_ != nullptr) device_->state_->close();
}

}  // namespace plimsoll

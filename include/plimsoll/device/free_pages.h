#pragma once

#include <plimsoll/device/device.h>

namespace plimsoll {

/// Gives back the pages that no block uses, of `device` and of the physical device it is a part of.
/// They count as used while they are mapped, so whoever plans with what is available calls this
/// first: a large tensor that was deleted would otherwise leave no room.
inline void release_free_pages(const Device& device) {
  device.arena().trim();
  const std::string& name = device.name();
  const std::size_t end = name.find('/');
  if (end != std::string::npos) Device::open(name.substr(0, end)).arena().trim();
}

}  // namespace plimsoll

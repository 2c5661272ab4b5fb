#include "data/image/workspace.h"

#include <string>

#include <plimsoll/base/error.h>

namespace plimsoll::image {

Workspace::Workspace(Scratch& scratch, Bytes bytes)
    : scratch_(scratch), block_(scratch.allocate(bytes)), size_(bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(block_);
  const Bytes gap = align_up(address, kAlignment) - address;
  begin_ = static_cast<std::byte*>(block_) + gap;
  size_ = bytes < gap ? 0 : bytes - gap;
}

Workspace::~Workspace() { scratch_.free(block_); }

void* Workspace::take(Bytes bytes) noexcept {
  if (bytes > size_ || cost(bytes) > size_ - used_) return nullptr;
  void* result = begin_ + used_;
  used_ += cost(bytes);
  return result;
}

void* Workspace::take_or_throw(Bytes bytes) {
  void* result = take(bytes);
  if (result == nullptr) {
    throw InternalError("[image] a workspace of " + std::to_string(size_) + " bytes, " +
                        std::to_string(used_) + " of them used, cannot give " +
                        std::to_string(bytes) + " more");
  }
  return result;
}

}  // namespace plimsoll::image

#include "support/poisoned.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace plimsoll::test {
namespace {

constexpr Bytes kGuard = 512;
constexpr std::uint8_t kPoison = 0xFF;

/// A piece comes from the host, and copies double it.
void poison(const Device& device, std::byte* to, Bytes bytes) {
  const std::vector<std::uint8_t> first(std::min<Bytes>(bytes, 4096), kPoison);
  device.copy(to, first.data(), first.size());
  for (Bytes done = first.size(); done < bytes;) {
    const Bytes piece = std::min(done, bytes - done);
    device.copy(to + done, to, piece);
    done += piece;
  }
}

}  // namespace

Poisoned::Poisoned(const Device& device, Bytes bytes)
    : storage_(Storage::allocate(device, align_up(bytes, 256) + 2 * kGuard, Tag::user, "poisoned")),
      bytes_(bytes) {
  poison(device, static_cast<std::byte*>(storage_->data()), storage_->size());
}

void* Poisoned::data() const { return static_cast<std::byte*>(storage_->data()) + kGuard; }

Tensor Poisoned::tensor(const TensorType& type) const {
  return Tensor::from_storage(storage_, type.dtype, type.shape, {}, kGuard);
}

void Poisoned::expect_intact(const std::string& what) const {
  const Bytes after = storage_->size() - kGuard - bytes_;
  std::vector<std::uint8_t> around(kGuard + after);
  const auto* const first = static_cast<const std::byte*>(storage_->data());
  storage_->device().copy(around.data(), first, kGuard);
  storage_->device().copy(around.data() + kGuard, first + kGuard + bytes_, after);
  for (std::size_t i = 0; i < around.size(); ++i) {
    if (around[i] == kPoison) continue;
    if (i < kGuard) {
      ADD_FAILURE() << "wrote " << kGuard - i << " bytes before " << what;
    } else {
      ADD_FAILURE() << "wrote " << i - kGuard << " bytes behind the end of " << what;
    }
    return;
  }
}

}  // namespace plimsoll::test

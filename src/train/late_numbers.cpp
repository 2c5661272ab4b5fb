#include "train/late_numbers.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include <plimsoll/base/error.h>

namespace plimsoll::train {
namespace {

/// A NaN that no arithmetic gives: what was not written yet.
constexpr std::uint32_t kNotWritten = 0xffa5'c3d1;

}  // namespace

LateNumbers::LateNumbers(Block block, std::size_t count) : block_(std::move(block)), count_(count) {
  std::fill_n(static_cast<std::uint32_t*>(block_.data()), count, kNotWritten);
}

LateNumbers& LateNumbers::operator=(LateNumbers&& other) noexcept {
  if (this == &other) return *this;
  let_go();
  block_ = std::move(other.block_);
  count_ = other.count_;
  fence_ = std::move(other.fence_);
  return *this;
}

LateNumbers::~LateNumbers() { let_go(); }

void LateNumbers::let_go() noexcept {
  if (fence_ == nullptr) return;
  try {
    fence_->wait();
  } catch (const Error&) {  // a device that has failed writes nothing any more
  }
  fence_.reset();
}

bool LateNumbers::written() const {
  const auto* bits = static_cast<const std::uint32_t*>(block_.data());
  return std::find(bits, bits + count_, kNotWritten) == bits + count_;
}

std::span<const float> LateNumbers::wait() {
  if (fence_ == nullptr) throw InternalError("[LateNumbers] nothing was submitted");
  try {
    fence_->wait();
  } catch (const DeviceError&) {
    // A step after this one may be what failed.
    if (!written()) throw;
  }
  return {at(0), count_};
}

NumberSheets::NumberSheets(const Device& device, const Budget& host)
    : device_(device), pinned_(device.make_pinned_arena(host)) {
  account_ = pinned_->budget().account(Tag::staging, "losses");
  page_ = pinned_->allocate(1, account_);
}

LateNumbers NumberSheets::take(std::size_t count) {
  return {pinned_->allocate(std::max<Bytes>(count, 1) * sizeof(float), account_), count};
}

}  // namespace plimsoll::train

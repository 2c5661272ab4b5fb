#pragma once

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/memory/arena.h>

#include "memory/opened_source.h"

namespace plimsoll::testing {

/// Marks the memory of a block as its own: at both ends and where its pages begin. Does nothing
/// where a source's memory cannot be written.
class Stamp {
 public:
  Stamp() = default;
  Stamp(const OpenedSource& opened, const Block& block, std::uint32_t seed)
      : bytes_(kBytes), page_(opened.source->page_size()) {
    if (opened.write == nullptr) return;
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      bytes_[i] = static_cast<std::uint8_t>((seed + 1) * 2654435761U >> i % 4 * 8);
    }
    for (const std::uintptr_t at : places(block)) opened.write(at, bytes_);
  }

  /// Fails the test where the block no longer holds what was written to it.
  void check(const OpenedSource& opened, const Block& block) const {
    if (opened.read == nullptr) return;
    const auto begin = reinterpret_cast<std::uintptr_t>(block.data());
    for (const std::uintptr_t at : places(block)) {
      EXPECT_EQ(opened.read(at, bytes_.size()), bytes_)
          << "at offset " << at - begin << " of a block of " << block.size() << " bytes";
    }
  }

 private:
  static constexpr Bytes kBytes = 64;

  std::vector<std::uintptr_t> places(const Block& block) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(block.data());
    const std::uintptr_t last = begin + block.size() - kBytes;
    std::vector<std::uintptr_t> all = {begin};
    for (std::uintptr_t at = align_up(begin + kBytes, page_); at + kBytes <= last; at += page_) {
      all.push_back(at);
    }
    if (last >= all.back() + kBytes) all.push_back(last);
    return all;
  }

  std::vector<std::uint8_t> bytes_;
  Bytes page_ = 0;
};

}  // namespace plimsoll::testing

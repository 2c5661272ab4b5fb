#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include <plimsoll/data/element.h>

namespace plimsoll::data {

/// The byte strings of a batch while it is being filled, until their lengths are all known: tensors
/// of one each, or bytes that were put into one block.
class BatchTexts {
 public:
  void set(std::size_t row, Value value) { at(row) = {std::move(value), 0, 0}; }
  /// Copies `text`. Throws OutOfMemory and is then as before.
  void put(std::size_t row, std::string_view text, const Device& device, const Account& account) {
    // What was put for this row last, and is void, may be all that lies at the end.
    const Text& before = at(row);
    if (before.value.is_scalar() && before.begin + before.size == used_) used_ = before.begin;
    if (text.size() > capacity_ - used_) grow(text.size(), device, account);
    if (!text.empty()) {
      std::memcpy(static_cast<std::byte*>(block_.data()) + used_, text.data(), text.size());
    }
    at(row) = {Value(), used_, text.size()};
    used_ += text.size();
  }
  /// Those of the first `rows` rows, all of which were set or put.
  std::vector<std::string_view> views(std::size_t rows) const {
    const auto* const block = static_cast<const char*>(block_.data());
    std::vector<std::string_view> result;
    result.reserve(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      const Text& text = texts_[i];
      result.push_back(text.value.is_scalar() ? std::string_view(block + text.begin, text.size)
                                              : text.value.text());
    }
    return result;
  }

 private:
  struct Text {
    Value value;  ///< a number: the text is in the block
    Bytes begin = 0;
    Bytes size = 0;
  };

  Text& at(std::size_t row) {
    if (texts_.size() <= row) texts_.resize(row + 1);
    return texts_[row];
  }
  void grow(Bytes bytes, const Device& device, const Account& account) {
    const Bytes capacity = std::max({2 * capacity_, used_ + bytes, KiB(4)});
    Block grown = device.arena().allocate(capacity, account);
    if (used_ > 0) std::memcpy(grown.data(), block_.data(), used_);
    block_ = std::move(grown);
    capacity_ = capacity;
  }

  std::vector<Text> texts_;
  Block block_;
  Bytes capacity_ = 0;
  Bytes used_ = 0;
};

}  // namespace plimsoll::data

#include "data/engine/indexed_stage.h"

#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/out_of_memory.h>

namespace plimsoll::data {

Pull IndexedStage::pull(ElementBlock& out, std::size_t max) {
  const std::int64_t size = source_.size();
  const auto left = static_cast<std::uint64_t>(std::max<std::int64_t>(0, size - at_));
  if (left == 0) return Pull::end;
  const std::size_t before = out.size();
  const std::size_t wanted = std::min<std::size_t>(max, left);
  for (std::size_t i = 0; i < wanted; ++i) {
    const std::int64_t index = index_of(at_);
    try {
      out.push_back(fetch(index));
    } catch (const OutOfMemory&) {
      if (out.size() > before) return Pull::ready;
      throw;
    } catch (const std::exception& error) {
      if (out.size() > before) return Pull::ready;  // comes again, alone, with the next call
      ++at_;
      // What names a file begins with it.
      if (keep_->reads() != nullptr) {
        throw DataError(fmt::format("{} ({}, element {})", error.what(), keep_->kind(), index));
      }
      throw DataError(fmt::format("[{}] element {}: {}", keep_->kind(), index, error.what()));
    }
    out.back().id = static_cast<std::uint64_t>(index);
    ++at_;
  }
  return Pull::ready;
}

StagePtr IndexedNode::make(Builder& builder) const {
  return std::make_unique<IndexedStage>(shared_from_this(), *this, builder.engine());
}

}  // namespace plimsoll::data

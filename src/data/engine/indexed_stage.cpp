#include "data/engine/indexed_stage.h"

#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/out_of_memory.h>

namespace plimsoll::data {

bool IndexedStage::narrow(std::uint64_t first, std::uint64_t step) {
  if (first >= static_cast<std::uint64_t>(count_)) {
    count_ = 0;
    return true;
  }
  const auto from = static_cast<std::int64_t>(first);
  // More than there are leaves the first alone, and need not be counted.
  const auto by = static_cast<std::int64_t>(std::min(step, static_cast<std::uint64_t>(count_)));
  count_ = (count_ - from + by - 1) / by;
  first_ += from * step_;
  step_ *= by;
  return true;
}

Pull IndexedStage::pull(ElementBlock& out, std::size_t max) {
  if (!looks_ahead_) return pull_here(out, max);
  read_ahead();
  const std::size_t before = out.size();
  const Pull taken = ahead_.take(at_, out, max);
  stats_.busy_s += ahead_.take_busy_s();
  at_ += static_cast<std::int64_t>(out.size() - before);
  if (taken == Pull::ready) read_ahead();
  if (taken != Pull::end) return taken;
  // A large one is read alone: the next may be read ahead again.
  const bool large = at_ < count_ && source_.read_bytes(chosen(at_)) > 0;
  const auto until = static_cast<std::size_t>(ahead_.before_next(at_));
  return pull_here(out, large ? 1 : std::min(max, until));
}

void IndexedStage::read_ahead() {
  while (ahead_.has_room(at_)) {
    ReadAhead::Run run;
    run.first = ahead_.end(at_);
    const Bytes most = ahead_.most_bytes();
    for (std::int64_t position = run.first; position < count_; ++position) {
      const std::int64_t index = chosen(position);
      const Bytes bytes = source_.read_bytes(index);
      if (bytes == 0 || (run.bytes > 0 && run.bytes + bytes > most)) break;
      run.bytes += bytes;
      run.indices.push_back(index);
    }
    if (run.bytes < ReadAhead::Run::kLeast || !ahead_.begin(std::move(run))) return;
  }
}

Pull IndexedStage::pull_here(ElementBlock& out, std::size_t max) {
  const auto left = static_cast<std::uint64_t>(std::max<std::int64_t>(0, count_ - at_));
  if (left == 0) return Pull::end;
  const std::size_t before = out.size();
  const std::size_t wanted = std::min<std::size_t>(max, left);
  for (std::size_t i = 0; i < wanted; ++i) {
    const std::int64_t index = chosen(at_);
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

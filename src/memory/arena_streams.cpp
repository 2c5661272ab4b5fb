// Stream-ordered release: what was freed on a stream is that stream's at once, and everybody's
// after a fence.

#include <algorithm>
#include <utility>

#include <plimsoll/base/error.h>

#include "memory/arena_state.h"

namespace plimsoll {

void ArenaState::record_use(Segment* s, StreamId stream) {
  if (options_.fences == nullptr || stream == kHostStream) return;
  MemoryTree::Lock lock(tree_->mutex);
  if (closing_ || s->stream == stream) return;
  auto& uses = extra_uses_[s];
  if (std::find(uses.begin(), uses.end(), stream) == uses.end()) uses.push_back(stream);
}

bool ArenaState::record_pending(Pending& pending, bool must) {
  // A fence that cannot be recorded now is tried again at the next poll; until then the block
  // stays pending.
  while (!pending.unrecorded.empty()) {
    std::shared_ptr<Fence> fence;
    try {
      fence = options_.fences->record(pending.unrecorded.back());
    } catch (const std::exception&) {
      if (must) throw;
      return false;
    }
    if (fence == nullptr) return false;
    pending.fences.push_back(std::move(fence));
    pending.unrecorded.pop_back();
  }
  return true;
}

ArenaState::Stream& ArenaState::stream_of(StreamId id) {
  for (Stream& stream : streams_) {
    if (stream.id == id) return stream;
  }
  return streams_.emplace_back(Stream{id, 0, 0, nullptr, 0});
}

void ArenaState::settle_stream(Stream& stream) {
  stream.settled = stream.fence_release;
  stream.fence.reset();
  for (FreeBins& bins : bins_) {
    std::vector<Segment*> settled = bins.at_least(1);
    std::erase_if(settled, [&](const Segment* s) {
      return s->stream != stream.id || s->released > stream.settled;
    });
    for (Segment* s : settled) s->stream = kHostStream;
    for (Segment* s : settled) {
      // Neighbours may have merged with it already.
      if (s->state != Segment::State::free || s->size == 0) continue;
      bins.remove(s);
      settle_free(s, Join::same);
    }
  }
}

bool ArenaState::poll_streams() {
  bool changed = false;
  for (std::size_t i = 0; i < pending_.size();) {
    Pending& p = pending_[i];
    const bool done = record_pending(p) && std::all_of(p.fences.begin(), p.fences.end(),
                                                       [](const auto& f) { return f->done(); });
    if (!done) {
      ++i;
      continue;
    }
    Segment* s = p.segment;
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
    finish_release(s);
    changed = true;
  }
  for (Stream& stream : streams_) {
    if (stream.last_release <= stream.settled) continue;
    if (stream.fence == nullptr) {
      stream.fence = options_.fences->record(stream.id);
      stream.fence_release = release_count_;
      if (stream.fence == nullptr) continue;
    }
    if (stream.fence->done()) {
      settle_stream(stream);
      changed = true;
    }
  }
  return changed;
}

std::vector<std::shared_ptr<Fence>> ArenaState::fences(bool must) {
  std::vector<std::shared_ptr<Fence>> result;
  for (Pending& p : pending_) {
    record_pending(p, must);
    result.insert(result.end(), p.fences.begin(), p.fences.end());
  }
  for (Stream& stream : streams_) {
    if (stream.last_release <= stream.settled) continue;
    if (stream.fence == nullptr || stream.fence_release < stream.last_release) {
      stream.fence = options_.fences->record(stream.id);
      stream.fence_release = release_count_;
    }
    if (stream.fence != nullptr) result.push_back(stream.fence);
  }
  return result;
}

bool ArenaState::in_use() const {
  return !pending_.empty() || std::any_of(streams_.begin(), streams_.end(), [](const Stream& s) {
    return s.last_release > s.settled;
  });
}

}  // namespace plimsoll

#include "memory/segments.h"

namespace plimsoll {

Segment* FreeBins::scan(std::size_t c, Bytes size, StreamId stream, int limit) const {
  Segment* best = nullptr;
  for (Segment* s = heads_[c]; s != nullptr && limit > 0; s = s->bin_next, --limit) {
    if (s->size < size || (s->stream != kHostStream && s->stream != stream)) continue;
    if (best == nullptr || s->size < best->size ||
        (s->size == best->size && s->begin < best->begin)) {
      best = s;
    }
  }
  return best;
}

Segment* FreeBins::best_fit(Bytes size, StreamId stream, int scan_limit) const {
  for (std::size_t c = next_class(class_of(size)); c < kClasses; c = next_class(c + 1)) {
    if (Segment* s = scan(c, size, stream, scan_limit)) return s;
  }
  return nullptr;
}

Segment* FreeBins::lowest_fit(Bytes size, StreamId stream, int scan_limit) const {
  Segment* best = nullptr;
  for (std::size_t c = next_class(class_of(size)); c < kClasses; c = next_class(c + 1)) {
    int left = scan_limit;
    for (Segment* s = heads_[c]; s != nullptr && left > 0; s = s->bin_next, --left) {
      if (best != nullptr && s->begin > best->begin) break;
      if (s->size < size || (s->stream != kHostStream && s->stream != stream)) continue;
      best = s;
      break;
    }
  }
  return best;
}

Bytes FreeBins::largest() const {
  for (std::size_t word = occupied_.size(); word-- > 0;) {
    if (occupied_[word] == 0) continue;
    const int bit = 63 - std::countl_zero(occupied_[word]);
    Bytes largest = 0;
    for (const Segment* s = heads_[word * 64 + static_cast<std::size_t>(bit)]; s != nullptr;
         s = s->bin_next) {
      if (s->size > largest) largest = s->size;
    }
    return largest;
  }
  return 0;
}

std::vector<Segment*> FreeBins::at_least(Bytes size) const {
  std::vector<Segment*> result;
  for (std::size_t c = next_class(class_of(size)); c < kClasses; c = next_class(c + 1)) {
    for (Segment* s = heads_[c]; s != nullptr; s = s->bin_next) {
      if (s->size >= size) result.push_back(s);
    }
  }
  return result;
}

void GapList::insert(Segment* s) {
  s->bin_prev = nullptr;
  s->bin_next = head_;
  if (head_ != nullptr) head_->bin_prev = s;
  head_ = s;
}

void GapList::remove(Segment* s) {
  if (s->bin_next != nullptr) s->bin_next->bin_prev = s->bin_prev;
  (s->bin_prev != nullptr ? s->bin_prev->bin_next : head_) = s->bin_next;
}

Segment* SegmentList::make() {
  if (spare_ == nullptr) return &storage_.emplace_back();
  Segment* s = spare_;
  spare_ = s->next;
  *s = Segment{};
  return s;
}

Segment* SegmentList::append(AddressRange range, Segment::State state, std::uint8_t zone) {
  Segment* s = make();
  s->begin = range.begin;
  s->size = range.size;
  s->state = state;
  s->zone = zone;
  s->prev = last_;
  (last_ != nullptr ? last_->next : first_) = s;
  last_ = s;
  return s;
}

Segment* SegmentList::split(Segment* s, Bytes size) {
  Segment* rest = make();
  rest->begin = s->begin + size;
  rest->size = s->size - size;
  rest->released = s->released;
  rest->stream = s->stream;
  rest->state = s->state;
  rest->zone = s->zone;
  rest->prev = s;
  rest->next = s->next;
  (s->next != nullptr ? s->next->prev : last_) = rest;
  s->next = rest;
  s->size = size;
  return rest;
}

void SegmentList::absorb_next(Segment* s) {
  Segment* gone = s->next;
  s->size += gone->size;
  s->next = gone->next;
  (gone->next != nullptr ? gone->next->prev : last_) = s;
  gone->size = 0;
  gone->next = spare_;
  spare_ = gone;
}

}  // namespace plimsoll

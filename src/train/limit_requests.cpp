#include <plimsoll/train/limit_requests.h>

#include <utility>

namespace plimsoll::train {

bool LimitRequests::post(Request request) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= kMost) return false;
  waiting_.push_back(std::move(request));
  return true;
}

void LimitRequests::clear() {
  std::vector<Request> dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(waiting_);
}

bool LimitRequests::waiting() const {
  const std::lock_guard lock(mutex_);
  return !waiting_.empty();
}

void LimitRequests::serve(const std::function<Verdict(Bytes limit)>& take) {
  std::vector<Request> requests;
  {
    const std::lock_guard lock(mutex_);
    requests.swap(waiting_);
  }
  for (const Request& request : requests) {
    if (request.wanted()) request.answer(take(request.limit));
  }
}

}  // namespace plimsoll::train

#include "plan/copy_queues.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace plimsoll::plan {

CopyQueues::CopyQueues(const Device& device, StreamId compute, StreamId to_host, StreamId from_host,
                       std::vector<Copy> copies)
    : device_(device),
      compute_(compute),
      to_host_(to_host),
      from_host_(from_host),
      copies_(std::move(copies)),
      by_need_(copies_.size()),
      fences_(copies_.size()) {
  std::iota(by_need_.begin(), by_need_.end(), std::size_t{0});
  // Those to the host first: what begins with a task may lie where they read.
  std::stable_sort(by_need_.begin(), by_need_.end(), [&](std::size_t a, std::size_t b) {
    return copies_[a].needed != copies_[b].needed ? copies_[a].needed < copies_[b].needed
                                                  : copies_[a].out > copies_[b].out;
  });
}

void CopyQueues::begin(int task, bool out) {
  const StreamId stream = out ? to_host_ : from_host_;
  bool first = true;
  for (; next_ < copies_.size() && copies_[next_].begins == task && copies_[next_].out == out;
       ++next_) {
    const Copy& copy = copies_[next_];
    if (std::exchange(first, false)) device_.wait(stream, device_.fence(compute_));
    device_.copy(out ? copy.host : copy.device, out ? copy.device : copy.host, copy.bytes, stream);
    fences_[next_] = device_.fence(stream);
  }
}

void CopyQueues::wait(int task, bool out) {
  for (; next_needed_ < by_need_.size(); ++next_needed_) {
    const std::size_t i = by_need_[next_needed_];
    if (copies_[i].needed != task || copies_[i].out != out) return;
    device_.wait(compute_, std::exchange(fences_[i], nullptr));
  }
}

void CopyQueues::before(int task) {
  if (task == 0) next_ = next_needed_ = 0;
  begin(task, true);
  wait(task, true);
  begin(task, false);
  wait(task, false);
}

}  // namespace plimsoll::plan

#include "train/limit_relief.h"

#include <chrono>
#include <utility>

#include <plimsoll/data/pipeline_thread.h>

namespace plimsoll::train {
namespace {

// A training may be long in coming, or wait for what the asking thread is to make.
constexpr std::chrono::seconds kReliefPatience(60);

}  // namespace

LimitRelief::LimitRelief(const Budget& budget, std::function<Bytes(Bytes wanted)> give)
    : give_(std::move(give)), thread_(std::this_thread::get_id()) {
  handle_ = budget.on_relief(ReliefOrder::replan, "training",
                             [this](Bytes wanted) { return relieve(wanted); });
}

LimitRelief::~LimitRelief() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  handle_.release();
}

Bytes LimitRelief::relieve(Bytes wanted) {
  if (std::this_thread::get_id() == thread_) {
    if (!between_) return 0;
    between_ = false;  // what giving takes must not ask again
    struct Restore {
      ~Restore() { flag = true; }
      bool& flag;
    } const restore{between_};
    return give_(wanted);
  }
  // The training waits for its pipelines, and stops them before it gives memory away.
  if (data::is_pipeline_thread()) return 0;
  std::unique_lock lock(mutex_);
  if (ended_) return 0;
  wanted_ = wanted;
  given_.reset();
  changed_.wait_for(lock, kReliefPatience, [&] { return given_ || ended_; });
  wanted_.reset();
  return given_.value_or(0);
}

bool LimitRelief::wanted() {
  const std::lock_guard lock(mutex_);
  return wanted_.has_value();
}

void LimitRelief::serve() {
  std::unique_lock lock(mutex_);
  if (!wanted_) return;
  const Bytes wanted = *wanted_;
  wanted_.reset();
  lock.unlock();
  Bytes given = 0;
  struct Answer {
    ~Answer() {
      const std::lock_guard lock(relief.mutex_);
      relief.given_ = given;
      relief.changed_.notify_all();
    }
    LimitRelief& relief;
    const Bytes& given;
  } const answer{*this, given};
  given = give_(wanted);
}

}  // namespace plimsoll::train

#include "backend/cuda/driver/streams.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <string>

#include <plimsoll/base/error.h>

namespace plimsoll::cuda {
namespace {

/// Times by the driver's events, made when they are wanted: it happens once in a training.
class EventTimer final : public StreamTimer {
 public:
  EventTimer(std::shared_ptr<Context> context, CUstream stream)
      : context_(std::move(context)), stream_(stream) {}
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;
  ~EventTimer() override {
    if (context_->gone()) return;
    try {
      const Context::Scope scope(*context_);
      for (CUevent event : events_) (void)context_->driver().cuEventDestroy(event);
    } catch (const Error&) {  // a device that has failed has nothing to give back
    }
  }

  void mark() override {
    const Context::Scope scope(*context_);
    events_.reserve(events_.size() + 1);
    CUevent event = nullptr;
    context_->check(context_->driver().cuEventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate");
    events_.push_back(event);
    context_->check(context_->driver().cuEventRecord(event, stream_), "cuEventRecord");
  }

  std::vector<double> seconds() override {
    std::vector<double> between;
    if (events_.empty()) return between;
    const Context::Scope scope(*context_);
    const Driver& driver = context_->driver();
    context_->check(driver.cuEventSynchronize(events_.back()), "cuEventSynchronize");
    for (std::size_t i = 1; i < events_.size(); ++i) {
      float milliseconds = 0;
      context_->check(driver.cuEventElapsedTime(&milliseconds, events_[i - 1], events_[i]),
                      "cuEventElapsedTime");
      between.push_back(static_cast<double>(milliseconds) * 1e-3);
    }
    return between;
  }

 private:
  const std::shared_ptr<Context> context_;
  const CUstream stream_;
  std::vector<CUevent> events_;
};

}  // namespace

/// Events that are not in use: making one costs more than recording it.
class StreamTable::EventPool {
 public:
  explicit EventPool(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  ~EventPool() {
    for (CUevent event : free_) (void)context_->driver().cuEventDestroy(event);
  }

  const Context& context() const { return *context_; }

  /// Needs the context to be current.
  CUevent take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        CUevent event = free_.back();
        free_.pop_back();
        return event;
      }
    }
    CUevent event = nullptr;
    // Waiting for one sleeps instead of spinning: it happens when memory is short, not in a step.
    context_->check(
        context_->driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC),
        "cuEventCreate");
    return event;
  }

  void give(CUevent event) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      free_.push_back(event);
    } catch (const std::exception&) {
      (void)context_->driver().cuEventDestroy(event);
    }
  }

 private:
  const std::shared_ptr<Context> context_;
  std::mutex mutex_;
  std::vector<CUevent> free_;
};

class StreamTable::EventFence final : public Fence {
 public:
  EventFence(std::shared_ptr<EventPool> pool, CUstream stream)
      : pool_(std::move(pool)), event_(pool_->take()) {
    const CUresult result = pool_->context().driver().cuEventRecord(event_, stream);
    if (result == CUDA_SUCCESS) return;
    pool_->give(event_);
    pool_->context().check(result, "cuEventRecord");
  }
  EventFence(const EventFence&) = delete;
  EventFence& operator=(const EventFence&) = delete;
  ~EventFence() override { pool_->give(event_); }

  CUevent event() const { return event_; }

  bool done() override {
    if (done_) return true;
    const Context& context = pool_->context();
    const Context::Scope scope(context);
    const CUresult result = context.driver().cuEventQuery(event_);
    if (result == CUDA_ERROR_NOT_READY) return false;
    context.check(result, "cuEventQuery");
    done_ = true;
    return true;
  }

  void wait() override {
    if (done_) return;
    const Context& context = pool_->context();
    const Context::Scope scope(context);
    context.check(context.driver().cuEventSynchronize(event_), "cuEventSynchronize");
    done_ = true;
  }

 private:
  const std::shared_ptr<EventPool> pool_;
  const CUevent event_;
  std::atomic<bool> done_{false};
};

StreamTable::StreamTable(std::shared_ptr<Context> context)
    : context_(std::move(context)),
      events_(std::make_shared<EventPool>(context_)),
      passed_(passed_fence()) {}

StreamTable::~StreamTable() {
  for (CUstream stream : streams_) (void)context_->driver().cuStreamDestroy(stream);
}

StreamId StreamTable::make() {
  const Context::Scope scope(*context_);
  const std::unique_lock lock(mutex_);
  if (!free_.empty()) {
    const StreamId stream = free_.back();
    free_.pop_back();
    return stream;
  }
  streams_.reserve(streams_.size() + 1);
  free_.reserve(streams_.size() + 1);  // so that a release need not allocate
  CUstream stream = nullptr;
  context_->check(context_->driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                  "cuStreamCreate");
  streams_.push_back(stream);
  return static_cast<StreamId>(streams_.size());
}

void StreamTable::release(StreamId stream) noexcept {
  if (stream == kHostStream) return;
  const std::unique_lock lock(mutex_);
  free_.push_back(stream);
}

CUstream StreamTable::get(StreamId stream) const {
  if (stream == kHostStream) return CU_STREAM_PER_THREAD;
  const std::shared_lock lock(mutex_);
  if (stream > streams_.size()) {
    throw InvalidArgument("[" + context_->name() + "] no stream " + std::to_string(stream) +
                          "; make_stream has given " + std::to_string(streams_.size()));
  }
  return streams_[stream - 1];
}

void StreamTable::synchronize(StreamId stream) const {
  const Context::Scope scope(*context_);
  {
    std::shared_lock lock(captures_);
    refuse_if_mine();
    ended_.wait(lock, [&] { return !is_captured(stream); });
  }
  context_->check(context_->driver().cuStreamSynchronize(get(stream)), "cuStreamSynchronize");
}

std::shared_ptr<Fence> StreamTable::fence(StreamId stream) {
  if (stream == kHostStream) return passed_;
  const Context::Scope scope(*context_);
  return std::make_shared<EventFence>(events_, get(stream));
}

std::shared_ptr<Fence> StreamTable::record(StreamId stream) {
  const std::shared_lock lock(captures_);
  if (is_captured(stream)) return nullptr;
  return fence(stream);
}

void StreamTable::wait(StreamId stream, Fence& fence) const {
  const auto* of_event = dynamic_cast<const EventFence*>(&fence);
  if (of_event == nullptr) {
    fence.wait();
    return;
  }
  const Context::Scope scope(*context_);
  context_->check(context_->driver().cuStreamWaitEvent(get(stream), of_event->event(), 0),
                  "cuStreamWaitEvent");
}

std::unique_ptr<StreamTimer> StreamTable::make_timer(StreamId stream) const {
  return std::make_unique<EventTimer>(context_, get(stream));
}

void StreamTable::synchronize() const {
  const Context::Scope scope(*context_);
  {
    std::unique_lock lock(captures_);
    refuse_if_mine();
    ended_.wait(lock, [this] { return captured_.empty(); });
    ++synchronizing_;
  }
  const CUresult result = context_->driver().cuCtxSynchronize();
  {
    const std::unique_lock lock(captures_);
    --synchronizing_;
  }
  ended_.notify_all();
  context_->check(result, "cuCtxSynchronize");
}

bool StreamTable::is_captured(StreamId stream) const {
  return std::any_of(captured_.begin(), captured_.end(),
                     [&](const auto& each) { return each.first == stream; });
}

void StreamTable::refuse_if_mine() const {
  if (std::none_of(captured_.begin(), captured_.end(),
                   [](const auto& each) { return each.second == std::this_thread::get_id(); })) {
    return;
  }
  throw DeviceError("[" + context_->name() +
                    "] a thread that records work cannot wait for the device; wait afterwards");
}

StreamTable::Capture::Capture(StreamTable& table, StreamId stream)
    : table_(table), stream_(stream) {
  std::unique_lock lock(table_.captures_);
  // Waiting for all of a context ends every recording of it.
  table_.ended_.wait(lock, [&] { return table_.synchronizing_ == 0; });
  table_.captured_.emplace_back(stream, std::this_thread::get_id());
}

StreamTable::Capture::~Capture() {
  {
    const std::unique_lock lock(table_.captures_);
    std::erase(table_.captured_, std::pair(stream_, std::this_thread::get_id()));
  }
  table_.ended_.notify_all();
}

}  // namespace plimsoll::cuda

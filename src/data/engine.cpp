#include "data/engine.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/system.h>
#include <plimsoll/memory/out_of_memory.h>

namespace plimsoll::data {
namespace {

constexpr std::size_t kMostSkippedListed = 10'000;

int thread_count(int asked) {
  if (asked < 0) {
    throw InvalidArgument(fmt::format("[Pipeline] {} threads; give 1 or more, or 0", asked));
  }
  return asked == 0 ? default_threads() : asked;
}

/// Better an error than a hang.
std::exception_ptr stalled() {
  return std::make_exception_ptr(
      InternalError("[Pipeline::next] nothing runs and nothing is ready; please report this"));
}

}  // namespace

Engine::Engine(const Device& device, const PipelineOptions& options)
    : options_(options),
      device_(device),
      budget_(device.budget().child(options.name, options.limit)),
      label_(budget_.path()),
      user_(budget_.account(Tag::user, "delivered")),
      threads_(thread_count(options.threads)) {}

Engine::~Engine() { stop(); }

TensorOptions Engine::tensor_options(Tag tag, std::string_view stage) const {
  return {
      .tag = tag, .label = label_, .stream = kHostStream, .account = budget_.account(tag, stage)};
}

void Engine::deliver(const Element& element) const {
  for (const Value& value : element) {
    if (value.is_scalar()) continue;
    const Storage& storage = *value.tensor().storage();
    if (storage.tag() != Tag::input || storage.label() != label_ || !storage.block()) continue;
    storage.block().recharge(user_);
  }
}

Bytes Engine::spare() const {
  const Bytes available = budget_.available();
  const Bytes held = task_bytes_.load();
  const Bytes coming = promised_ > held ? promised_ - held : 0;
  return available > coming ? available - coming : 0;
}

bool Engine::admits(Bytes bytes) const { return in_flight_ == 0 || bytes <= spare(); }

void Engine::submit(std::shared_ptr<Task> task, Bytes credit) {
  ++in_flight_;
  promised_ += credit;
  task->credit_ = credit;
  {
    const std::lock_guard lock(mutex_);
    // Threads begin with the first task: a pipeline without parallel stages has none.
    if (pool_.empty()) {
      for (int i = 0; i < threads_; ++i) pool_.emplace_back([this] { work(); });
    }
    queue_.push_back(std::move(task));
  }
  idle_.notify_one();
}

void Engine::set_stages(Stage* root, std::vector<Stage*> ahead) {
  root_ = root;
  ahead_ = std::move(ahead);
}

void Engine::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    idle_.wait(lock, [&] { return stopping_ || !queue_.empty() || (kick_ && !busy_); });
    if (stopping_) return;
    if (kick_ && !busy_) {
      kick_ = false;
      busy_ = true;
      lock.unlock();
      run_strand();
      lock.lock();
      continue;
    }
    const std::shared_ptr<Task> task = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    task->run();
    lock.lock();
    finished_.push_back(task);
    if (busy_) continue;  // whoever has the strand looks again before letting it go
    busy_ = true;
    lock.unlock();
    run_strand();
    lock.lock();
  }
}

/// For a pool thread that has just taken the strand.
void Engine::run_strand() {
  for (;;) {
    apply_finished();
    bool waits = false;
    {
      const std::lock_guard lock(mutex_);
      waits = waiting_ && !result_;
    }
    if (waits && !stopping_) {
      Result result = poll();
      if (result.pull != Pull::pending || result.error) {
        const std::lock_guard lock(mutex_);
        result_ = std::move(result);
      }
    }
    pump();
    const std::lock_guard lock(mutex_);
    if (waits && !result_ && in_flight_ == 0 && finished_.empty()) {
      result_ = Result{Pull::pending, stalled(), {}};
    }
    // A consumer that came to wait in the meantime would otherwise find nobody polling for it.
    const bool unserved = waiting_ && !result_ && !waits;
    if ((finished_.empty() && !unserved) || stopping_) {
      busy_ = false;
      strand_.notify_all();
      return;
    }
  }
}

void Engine::apply_finished() {
  std::vector<std::shared_ptr<Task>> finished;
  {
    const std::lock_guard lock(mutex_);
    finished.swap(finished_);
  }
  for (const auto& task : finished) {
    --in_flight_;
    promised_ -= task->credit_;
    task->finish();
  }
}

void Engine::pump() {
  for (Stage* stage : ahead_) {
    if (should_yield()) return;
    stage->pump();
  }
}

void Engine::take_strand(std::unique_lock<std::mutex>& lock) {
  ++wanted_;
  strand_.wait(lock, [&] { return !busy_; });
  --wanted_;
  busy_ = true;
}

/// Lets the strand go and has the stages ahead pumped by the pool, where there are any.
void Engine::release_strand() {
  bool kicked = false;
  {
    const std::lock_guard lock(mutex_);
    busy_ = false;
    if (!ahead_.empty() && !cancelled_ && !stopping_) {
      if (pool_.empty()) {
        for (int i = 0; i < threads_; ++i) pool_.emplace_back([this] { work(); });
      }
      kick_ = true;
      kicked = true;
    }
    strand_.notify_all();
  }
  if (kicked) idle_.notify_one();
}

Engine::Result Engine::poll() {
  Result result = poll_root();
  if (!result.error) return result;
  try {
    std::rethrow_exception(result.error);
  } catch (const OutOfMemory&) {
    // What runs will give its memory back; only when nothing does is the answer final.
    if (in_flight_ > 0) return {};
  } catch (...) {  // the consumer's to see
  }
  return result;
}

Engine::Result Engine::poll_root() {
  Result result;
  demand_ = true;
  try {
    if (block_.empty()) result.pull = root_->next_block(block_, 1);
    if (!block_.empty()) {
      deliver(block_.front());
      result.pull = Pull::ready;
      result.element = std::move(block_.front());
      block_.clear();
    }
  } catch (...) {
    result.error = std::current_exception();
  }
  demand_ = false;
  return result;
}

std::optional<Element> Engine::next() {
  std::unique_lock lock(mutex_);
  if (cancelled_) return std::nullopt;
  take_strand(lock);
  Result result;
  for (;;) {
    lock.unlock();
    apply_finished();
    result = poll();
    lock.lock();
    if (result.pull != Pull::pending || result.error || cancelled_) break;
    if (!finished_.empty()) continue;
    if (in_flight_ == 0) {
      result.error = stalled();
      break;
    }
    waiting_ = true;
    busy_ = false;
    strand_.notify_all();
    strand_.wait(lock, [&] { return (result_ || cancelled_) && !busy_; });
    waiting_ = false;
    busy_ = true;
    if (result_) {
      result = std::move(*result_);
      result_.reset();
      break;
    }
    if (cancelled_) break;
  }
  const bool cancelled = cancelled_;
  lock.unlock();
  release_strand();
  if (cancelled) return std::nullopt;
  if (result.error) std::rethrow_exception(result.error);
  if (result.pull != Pull::ready) return std::nullopt;
  return std::move(result.element);
}

void Engine::with_strand(const std::function<void()>& work) {
  {
    std::unique_lock lock(mutex_);
    take_strand(lock);
  }
  try {
    work();
  } catch (...) {
    release_strand();
    throw;
  }
  release_strand();
}

void Engine::cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  strand_.notify_all();
}

void Engine::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    cancelled_ = true;
    queue_.clear();
  }
  idle_.notify_all();
  strand_.notify_all();
  for (std::thread& thread : pool_) thread.join();
  pool_.clear();
}

void Engine::note_skipped(SkippedElement skipped) {
  const std::lock_guard lock(mutex_);
  if (skipped_.size() < kMostSkippedListed) skipped_.push_back(std::move(skipped));
}

std::vector<SkippedElement> Engine::skipped() const {
  const std::lock_guard lock(mutex_);
  return skipped_;
}

}  // namespace plimsoll::data

#include "data/engine/engine.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/out_of_memory.h>

#include "data/engine/pipeline_thread.h"

namespace plimsoll::data {
namespace {

constexpr std::size_t kMostSkippedListed = 10'000;

/// The calling thread is in next(): it must not wait for a pipeline meanwhile.
class Consuming {
 public:
  explicit Consuming(std::atomic<bool>& flag) : flag_(flag) { flag_ = true; }
  Consuming(const Consuming&) = delete;
  Consuming& operator=(const Consuming&) = delete;
  ~Consuming() { flag_ = false; }

 private:
  const InPipeline mark_;
  std::atomic<bool>& flag_;
};

/// Better an error than a hang.
std::exception_ptr stalled() {
  return std::make_exception_ptr(
      InternalError("[Pipeline::next] nothing runs and nothing is ready; please report this"));
}

/// Null for other errors.
std::optional<OutOfMemoryReport> out_of_memory(const std::exception_ptr& error) {
  if (!error) return std::nullopt;
  try {
    std::rethrow_exception(error);
  } catch (const OutOfMemory& refused) {
    return refused.report();
  } catch (...) {
    return std::nullopt;
  }
}

}  // namespace

Engine::Engine(Runtime& runtime, Section* section) : runtime_(runtime), section_(section) {
  const std::lock_guard lock(runtime_.mutex);
  runtime_.engines.push_back(this);
}

void Engine::retire() {
  std::vector<std::shared_ptr<Task>> dropped;  // goes without the mutex: it holds tensors
  std::unique_lock lock(runtime_.mutex);
  if (std::exchange(retired_, true)) return;
  ++wanted_;
  runtime_.changed.wait(lock, [&] { return !busy_; });
  std::erase_if(runtime_.tasks, [&](std::shared_ptr<Task>& task) {
    if (task->engine_ != this) return false;
    dropped.push_back(std::move(task));
    return true;
  });
  runtime_.changed.wait(lock, [&] { return running_ == 0; });
  std::erase(runtime_.engines, this);
  std::erase(runtime_.ready, this);
  dropped.insert(dropped.end(), finished_.begin(), finished_.end());
  finished_.clear();
  for (const auto& task : dropped) {
    --runtime_.in_flight;
    runtime_.promised -= task->credit_;
  }
  if (!dropped.empty()) runtime_.kick_starved();
}

// ---- Memory

TensorOptions Engine::tensor_options(Tag tag, std::string_view stage) const {
  return {.tag = tag,
          .label = runtime_.label,
          .stream = kHostStream,
          .account = runtime_.budget.account(tag, stage)};
}

void Engine::deliver(const Element& element) const {
  for (const Value& value : element) {
    if (value.is_scalar()) continue;
    const Storage& storage = *value.tensor().storage();
    if (!owns(storage)) continue;
    if (storage.tag() == Tag::input) {
      storage.block().recharge(runtime_.user);
    } else if (storage.tag() == Tag::prefetch) {  // of another device
      storage.block().recharge(storage.device().budget().account(Tag::user, "delivered"));
    }
  }
}

bool Engine::owns(const Storage& storage) const {
  return storage.block() && storage.label() == runtime_.label;
}

Bytes Engine::spare() const {
  const Bytes available = room_in(runtime_.budget, runtime_.device);
  const Bytes promised = runtime_.promised;
  const Bytes held = runtime_.task_bytes;
  const Bytes coming = promised > held ? promised - held : 0;
  return available > coming ? available - coming : 0;
}

Bytes Engine::reserve() const {
  const Bytes all = room_in(runtime_.budget, runtime_.device) + runtime_.budget.used();
  return runtime_.minimum + all / 4;
}

bool Engine::admits(Bytes bytes) {
  if (runtime_.in_flight == 0 || bytes <= spare()) return true;
  starved_ = true;
  return false;
}

// ---- Tasks and the strand

void Engine::submit(std::shared_ptr<Task> task, Bytes credit) {
  ++runtime_.in_flight;
  runtime_.promised += credit;
  task->credit_ = credit;
  task->engine_ = this;
  std::condition_variable* wake = nullptr;
  {
    const std::lock_guard lock(runtime_.mutex);
    wake = &runtime_.add(std::move(task));
  }
  wake->notify_one();
}

void Engine::kick() {
  const std::lock_guard lock(runtime_.mutex);
  runtime_.kick(*this);
}

/// For a pool thread that found the strand free.
void Engine::run_strand(std::unique_lock<std::mutex>& lock) {
  busy_ = true;
  ++runtime_.busy;
  bool again = true;
  while (again && !runtime_.stopping) {
    kicked_ = false;
    lock.unlock();
    apply_finished();
    const bool more = section_ != nullptr ? section_->serve() : serve_consumer();
    pump();
    lock.lock();
    again = more || kicked_ || !finished_.empty();
    if (again && should_yield()) break;
  }
  busy_ = false;
  --runtime_.busy;
  if (again) runtime_.kick(*this);
  runtime_.announce();
}

bool Engine::serve_consumer() {
  {
    const std::lock_guard lock(runtime_.mutex);
    if (!waiting_ || result_) return false;
  }
  Result result = poll();
  if (result.open()) return false;
  const std::lock_guard lock(runtime_.mutex);
  result_ = std::move(result);
  return false;
}

void Engine::apply_finished() {
  std::vector<std::shared_ptr<Task>> finished;
  {
    const std::lock_guard lock(runtime_.mutex);
    finished.swap(finished_);
  }
  for (const auto& task : finished) {
    --runtime_.in_flight;
    runtime_.promised -= task->credit_;
    task->finish();
  }
}

bool Engine::has_ahead() const {
  return std::any_of(ahead_.begin(), ahead_.end(),
                     [](const Stage* stage) { return stage->has_ahead(); });
}

void Engine::pump() {
  for (Stage* stage : ahead_) {
    if (should_yield()) return;
    stage->pump();
  }
}

void Engine::take_strand(std::unique_lock<std::mutex>& lock) {
  ++wanted_;
  runtime_.changed.wait(lock, [&] { return !busy_ && !runtime_.held; });
  --wanted_;
  busy_ = true;
  ++runtime_.busy;
}

/// With the mutex.
void Engine::let_go() {
  busy_ = false;
  --runtime_.busy;
  runtime_.announce();
  if (!runtime_.ready.empty()) runtime_.idle.notify_all();
}

bool Engine::may_go_on() const {
  return !busy_ && !runtime_.held && (result_ || runtime_.cancelled || listed_ || runtime_.quiet());
}

// ---- The consumer

Engine::Result Engine::poll() {
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
  // What runs may give memory back; only when nothing does any more is the answer final.
  if (!alone() && out_of_memory(result.error)) return {};
  return result;
}

/// True if what this pipeline holds may be the cause.
bool Engine::refused_here(const std::exception_ptr& error) const {
  const auto report = out_of_memory(error);
  return report &&
         (runtime_.label + "/").starts_with(report->budget.empty() ? "" : report->budget + "/");
}

/// Bytes that stages gave up while nothing else runs; `refusal` is what kept one from it.
Bytes Engine::relieve(std::exception_ptr& refusal) {
  std::vector<Engine*> engines;
  {
    const std::lock_guard lock(runtime_.mutex);
    engines = runtime_.engines;
  }
  Bytes freed = 0;
  for (Engine* const engine : engines) {
    for (Stage* const stage : engine->relief_) {
      try {
        freed += stage->relieve();
      } catch (const Error&) {
        refusal = std::current_exception();
      }
    }
  }
  return freed;
}

/// Nothing else runs. What is refused even so may have been kept away by windows that can do with
/// less memory, or by what is held ahead: that goes, to be made again later, before the answer is
/// final.
Engine::Result Engine::poll_alone() {
  runtime_.alone = true;
  std::exception_ptr refusal;
  Result result = poll();
  if (refused_here(result.error) && relieve(refusal) > 0) result = poll();
  if (refused_here(result.error)) {
    if (!refusal) relieve(refusal);  // what was written out may have filled the disk
    runtime_.relief_refused = refusal != nullptr;
    runtime_.last_resort = true;
    root_->restore(*root_->save());
    result = poll();
    runtime_.last_resort = false;
    runtime_.relief_refused = false;
    // With a full file, that is what to raise.
    if (refused_here(result.error)) relieve(refusal);
    if (refused_here(result.error) && refusal) result.error = refusal;
  }
  runtime_.alone = false;
  return result;
}

std::optional<Element> Engine::next() {
  const Consuming consuming(consuming_);
  const ConsumerWait wait(runtime_);
  std::unique_lock lock(runtime_.mutex);
  if (runtime_.cancelled) return std::nullopt;
  take_strand(lock);
  before_ = nullptr;
  if (runtime_.options.save_before_errors) {
    lock.unlock();
    before_ = root_->save();
    lock.lock();
  }
  Result result;
  while (!runtime_.cancelled) {
    kicked_ = false;
    lock.unlock();
    apply_finished();
    result = poll();
    lock.lock();
    if (!result.open()) break;
    if (kicked_ || !finished_.empty()) continue;
    waiting_ = true;
    runtime_.waiting = this;
    let_go();
    runtime_.consumer.wait(lock, [&] { return may_go_on(); });
    waiting_ = false;
    runtime_.waiting = nullptr;
    busy_ = true;
    ++runtime_.busy;
    if (result_) {
      result = std::move(*result_);
      result_.reset();
      break;
    }
    if (runtime_.cancelled) break;
    if (listed_) {
      std::erase(runtime_.ready, this);
      listed_ = false;
      continue;
    }
    runtime_.held = true;
    lock.unlock();
    apply_finished();
    result = poll_alone();
    lock.lock();
    runtime_.held = false;
    if (!result.open()) break;
    if (!kicked_ && runtime_.outside == 0 && runtime_.tasks.empty() && runtime_.ready.empty()) {
      result.error = stalled();
      break;
    }
  }
  const bool cancelled = runtime_.cancelled;
  if (!result.error) before_ = nullptr;
  const bool ahead = has_ahead();
  let_go();
  if (ahead && !cancelled) runtime_.kick(*this);
  lock.unlock();
  if (cancelled) return std::nullopt;
  if (result.error) std::rethrow_exception(std::exchange(result.error, nullptr));
  if (result.pull != Pull::ready) return std::nullopt;
  return std::move(result.element);
}

void Engine::with_strands(const std::function<void()>& work, bool drained) {
  const InPipeline mark;
  std::unique_lock lock(runtime_.mutex);
  ++runtime_.holds_wanted;
  runtime_.changed.wait(lock, [&] { return runtime_.busy == 0 && !runtime_.held; });
  --runtime_.holds_wanted;
  runtime_.held = true;
  const auto resume = [&] {
    runtime_.held = false;
    runtime_.announce();
    if (!runtime_.ready.empty()) runtime_.idle.notify_all();
  };
  try {
    if (drained) {
      runtime_.changed.wait(lock, [&] { return runtime_.running == 0 && runtime_.tasks.empty(); });
    }
    lock.unlock();
    // Nobody else looks at the list of engines' results meanwhile; they hold memory.
    if (drained) {
      for (Engine* const engine : runtime_.engines) engine->apply_finished();
    }
    work();
  } catch (...) {
    lock.lock();
    resume();
    throw;
  }
  lock.lock();
  // What was to be done ahead is not to begin again at once.
  if (drained) {
    for (Engine* const engine : runtime_.engines) engine->listed_ = engine->kicked_ = false;
    runtime_.ready.clear();
  }
  resume();
}

void Engine::wait_outside() {
  const std::lock_guard lock(runtime_.mutex);
  ++runtime_.outside;
}

void Engine::end_wait_outside() {
  const std::lock_guard lock(runtime_.mutex);
  --runtime_.outside;
  runtime_.kick(*this);
}

void Engine::with_own_strand(const std::function<void()>& work) {
  std::unique_lock lock(runtime_.mutex);
  ++wanted_;
  runtime_.changed.wait(lock, [&] { return !busy_; });
  --wanted_;
  busy_ = true;
  ++runtime_.busy;
  lock.unlock();
  try {
    work();
  } catch (...) {
    lock.lock();
    let_go();
    throw;
  }
  lock.lock();
  let_go();
}

void Engine::cancel() {
  const std::lock_guard lock(runtime_.mutex);
  runtime_.cancelled = true;
  runtime_.announce();
}

void Engine::note_skipped(SkippedElement skipped) {
  const std::lock_guard lock(runtime_.mutex);
  const bool listed = runtime_.skipped.size() < kMostSkippedListed;
  // What is read again for a position that was gone back to fails again.
  const std::size_t hash = std::hash<std::string>()(
      fmt::format("{} {} {}", skipped.epoch, skipped.stage, skipped.message));
  if (listed && !runtime_.skipped_hashes.insert(hash).second) return;
  ++runtime_.skipped_count;
  if (listed) runtime_.skipped.push_back(std::move(skipped));
}

std::int64_t Engine::skipped_count() const {
  const std::lock_guard lock(runtime_.mutex);
  return runtime_.skipped_count;
}

std::uint64_t Engine::set_epoch(std::uint64_t epoch) {
  const std::lock_guard lock(runtime_.mutex);
  return runtime_.epoch = epoch;
}

std::uint64_t Engine::epoch() const {
  const std::lock_guard lock(runtime_.mutex);
  return runtime_.epoch;
}

std::vector<SkippedElement> Engine::skipped() const {
  const std::lock_guard lock(runtime_.mutex);
  return runtime_.skipped;
}

}  // namespace plimsoll::data

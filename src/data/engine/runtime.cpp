#include "data/engine/runtime.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/system.h>

#include "data/engine/engine.h"
#include "data/engine/pipeline_thread.h"

namespace plimsoll::data {
namespace {

int thread_count(int asked) {
  if (asked < 0) {
    throw InvalidArgument(fmt::format("[Pipeline] {} threads; give 1 or more, or 0", asked));
  }
  return asked == 0 ? default_threads() : asked;
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Bytes room_in(const Budget& budget, const Device& device) {
  const Bytes now = budget.available();
  const Bytes limit = budget.limit();
  const Bytes own = limit == kUnlimited ? limit : limit - std::min(limit, budget.used());
  if (now >= own) return now;
  const ArenaStats stats = device.arena().stats();
  return std::min(own, now + (stats.mapped - std::min(stats.mapped, stats.live)));
}

Runtime::Runtime(const Device& on, const PipelineOptions& chosen)
    : options(chosen),
      device(on),
      budget(on.budget().child(chosen.name, chosen.limit)),
      label(budget.path()),
      user(budget.account(Tag::user, "delivered")),
      threads(thread_count(chosen.threads)) {}

void Runtime::start_threads() {
  if (!pool_.empty()) return;
  for (int i = 0; i < threads; ++i) {
    try {
      pool_.emplace_back([this] { work(); });
    } catch (const std::system_error& error) {
      if (i > 0) break;  // fewer do as well
      throw Error(fmt::format("[pipeline] no thread can be started: {}", error.what()));
    }
  }
}

std::condition_variable& Runtime::add(std::shared_ptr<Task> task) {
  start_threads();
  const bool may_block = task->may_block();
  tasks.push_back(std::move(task));
  if (!may_block) return idle;
  const auto blocking = static_cast<std::size_t>(
      std::ranges::count_if(tasks, [](const auto& each) { return each->may_block(); }));
  if (blocked_ + blocking > apart_.size()) {
    try {
      apart_.emplace_back([this] { work_apart(); });
    } catch (const std::system_error& error) {
      if (apart_.empty()) {  // otherwise those that there are come to it
        tasks.pop_back();
        throw Error(fmt::format("[pipeline] no thread can be started: {}", error.what()));
      }
    }
  }
  return apart;
}

void Runtime::kick(Engine& engine) {
  if (stopping || engine.retired_) return;
  engine.kicked_ = true;
  if (engine.busy_ || engine.listed_) return;
  engine.listed_ = true;
  ready.push_back(&engine);
  start_threads();
  // A consumer that waits runs its strand itself when all others have something to do.
  if (engine.waiting_ && idlers == 0) consumer.notify_all();
  idle.notify_one();
}

void Runtime::announce() {
  changed.notify_all();
  if (waiting != nullptr && waiting->may_go_on()) consumer.notify_all();
}

/// None while somebody waits to have them all quiet; none that somebody waits for.
Engine* Runtime::first_ready() const {
  if (held || holds_wanted != 0) return nullptr;
  const auto found = std::find_if(ready.begin(), ready.end(),
                                  [](const Engine* each) { return each->wanted_ == 0; });
  return found == ready.end() ? nullptr : *found;
}

void Runtime::work() {
  mark_pipeline_thread();
  bool gave_way = false;
  std::unique_lock lock(mutex);
  for (;;) {
    if (gives_way && !std::exchange(gave_way, true)) lower_priority();
    Engine* engine = nullptr;
    ++idlers;
    idle.wait(lock, [&] {
      engine = first_ready();
      return stopping || engine != nullptr || first_task(false) != tasks.end();
    });
    --idlers;
    if (stopping) return;
    if (engine != nullptr) {
      std::erase(ready, engine);
      engine->listed_ = false;
      if (!engine->busy_) engine->run_strand(lock);
    } else {
      run_task(lock, false);
    }
    if (held || quiet()) announce();
  }
}

void Runtime::work_apart() {
  mark_pipeline_thread();
  std::unique_lock lock(mutex);
  for (;;) {
    apart.wait(lock, [&] { return stopping || first_task(true) != tasks.end(); });
    if (stopping) return;
    run_task(lock, true);
    if (held || quiet()) announce();
  }
}

std::deque<std::shared_ptr<Task>>::iterator Runtime::first_task(bool may_block) {
  return std::ranges::find_if(tasks,
                              [&](const auto& each) { return each->may_block() == may_block; });
}

void Runtime::run_task(std::unique_lock<std::mutex>& lock, bool may_block) {
  const auto found = first_task(may_block);
  std::shared_ptr<Task> task = std::move(*found);
  tasks.erase(found);
  if (may_block) ++blocked_;
  Engine& engine = *task->engine_;
  ++running;
  ++engine.running_;
  lock.unlock();
  task->run();
  lock.lock();
  --running;
  --engine.running_;
  if (may_block) --blocked_;
  engine.finished_.push_back(std::move(task));
  // Its credit is free again, which others may have been waiting for.
  kick_starved(&engine);
  if (engine.retired_) {
    changed.notify_all();
    return;
  }
  if (engine.busy_) return;  // whoever has the strand looks again before letting it go
  if (held || holds_wanted != 0 || engine.wanted_ != 0) {
    kick(engine);
    return;
  }
  engine.run_strand(lock);
}

void Runtime::kick_starved(const Engine* but) {
  for (Engine* const engine : engines) {
    if (engine != but && engine->starved_.exchange(false)) kick(*engine);
  }
}

double Runtime::waited_s() const {
  const std::int64_t since = waiting_since_;
  const std::int64_t now = since == 0 ? 0 : std::max<std::int64_t>(0, now_ns() - since);
  return static_cast<double>(waited_ns_ + now) * 1e-9;
}

ConsumerWait::ConsumerWait(Runtime& runtime) : runtime_(runtime) {
  runtime_.waiting_since_ = now_ns();
}

ConsumerWait::~ConsumerWait() {
  const std::int64_t since = runtime_.waiting_since_.exchange(0);
  runtime_.waited_ns_ += now_ns() - since;
}

void Runtime::stop() {
  {
    const std::lock_guard lock(mutex);
    stopping = true;
    cancelled = true;
    tasks.clear();
    ready.clear();
  }
  idle.notify_all();
  apart.notify_all();
  changed.notify_all();
  consumer.notify_all();
  for (std::thread& thread : pool_) thread.join();
  for (std::thread& thread : apart_) thread.join();
  pool_.clear();
  apart_.clear();
}

}  // namespace plimsoll::data

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include <plimsoll/data/pipeline.h>

namespace plimsoll::data {

class Engine;

/// Bytes that could be charged to `budget`, of `device` or below it. Unlike Budget::available(),
/// pages that the arena has mapped and nobody uses are among them.
Bytes room_in(const Budget& budget, const Device& device);

/// Work for a pool thread. `run` is called once, on a pool thread and without any lock; `finish`
/// on the strand of the engine that submitted it afterwards.
class Task {
 public:
  virtual ~Task() = default;
  virtual void run() noexcept = 0;
  virtual void finish() = 0;
  /// It may wait for something outside the pipeline: a thread of its own runs it.
  virtual bool may_block() const { return false; }

 private:
  friend class Engine;
  friend class Runtime;
  Bytes credit_ = 0;
  Engine* engine_ = nullptr;
};

/// What all sections of a running pipeline share: the budget, the pool of threads, and who runs.
///
/// A pipeline is cut into sections at its prefetches; each has an Engine, whose strand is the right
/// to run its stages. Pool threads run tasks and strands that have something to do; they never wait
/// for one another or for memory. What fails for want of memory ahead of the consumer just stops;
/// when all is quiet and the consumer still waits, it runs the pipeline itself, alone.
class Runtime {
 public:
  Runtime(const Device& device, const PipelineOptions& options);
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime() { stop(); }

  const PipelineOptions options;
  const Device device;
  const Budget budget;
  const std::string label;
  const Account user;
  const int threads;
  /// What the stages need at least; set before there are any.
  Bytes minimum = 0;

  /// Bytes that tasks hold now, and that were promised to those under way.
  std::atomic<Bytes> task_bytes = 0;
  std::atomic<Bytes> promised = 0;
  std::atomic<int> in_flight = 0;

  /// True while one thread runs all sections, the consumer waiting for what it makes.
  std::atomic<bool> alone = false;
  /// With `alone`: nothing is held ahead any more, so a refusal is final.
  std::atomic<bool> last_resort = false;
  /// With `last_resort`: a stage that could have given memory was kept from it (a full disk), which
  /// is to blame rather than whoever is refused.
  std::atomic<bool> relief_refused = false;
  /// The consumer's own work on the processor goes before the pool's. For one that has little of it
  /// and must not be kept from it, such as a loop that feeds a GPU.
  std::atomic<bool> gives_way = false;
  std::atomic<bool> stopping = false;
  std::atomic<int> holds_wanted = 0;

  // Under the mutex.

  std::mutex mutex;
  std::condition_variable idle;      ///< pool threads: something to run
  std::condition_variable apart;     ///< threads for tasks that may block: one to run
  std::condition_variable changed;   ///< a strand is free, or all is quiet
  std::condition_variable consumer;  ///< it may go on
  std::deque<std::shared_ptr<Task>> tasks;
  std::deque<Engine*> ready;  ///< strands that have something to do
  std::vector<Engine*> engines;
  Engine* waiting = nullptr;  ///< the consumer waits for a result of this one
  int idlers = 0;             ///< pool threads that wait for something to do
  int busy = 0;               ///< strands that are run
  int running = 0;            ///< tasks that are run
  int outside = 0;            ///< waits for threads that are not the pool's
  bool held = false;
  bool cancelled = false;
  std::vector<SkippedElement> skipped;
  std::unordered_set<std::size_t> skipped_hashes;
  std::int64_t skipped_count = 0;
  std::uint64_t epoch = 0;

  /// Seconds until now that the consumer has spent waiting; from any thread, without the mutex.
  double waited_s() const;
  /// Has those run that were refused credit; with the mutex, when some came free.
  void kick_starved(const Engine* but = nullptr);

  /// Nothing runs and nothing will.
  bool quiet() const {
    return tasks.empty() && ready.empty() && busy == 0 && running == 0 && outside == 0;
  }
  /// Has a pool thread run the engine's strand, unless somebody does so now and will look again.
  void kick(Engine& engine);
  /// Wakes whoever may wait for what has changed. The consumer is woken only where it can go on:
  /// strands are let go for every element, and it waits for the last one of a batch.
  void announce();
  /// Starts the pool's threads if there are none: a pipeline without parallel stages has none.
  void start_threads();
  /// Puts a task into the queue and sees that there is a thread for it, which is to be notified
  /// without the mutex.
  std::condition_variable& add(std::shared_ptr<Task> task);
  /// Ends the threads; tasks that have not begun are dropped. Call without the mutex.
  void stop();

 private:
  void work();
  void work_apart();
  Engine* first_ready() const;
  /// The next task of one kind or the other; the end of `tasks` if there is none.
  std::deque<std::shared_ptr<Task>>::iterator first_task(bool may_block);
  void run_task(std::unique_lock<std::mutex>& lock, bool may_block);

  friend class ConsumerWait;
  std::vector<std::thread> pool_;
  /// For tasks that may block, as many as there ever were at a time: stages bound that.
  std::vector<std::thread> apart_;
  std::size_t blocked_ = 0;                      ///< such tasks that are run
  std::atomic<std::int64_t> waited_ns_ = 0;      ///< by the waits that have ended
  std::atomic<std::int64_t> waiting_since_ = 0;  ///< on the steady clock; 0: does not wait
};

/// The consumer waits for an element while this lives.
class ConsumerWait {
 public:
  explicit ConsumerWait(Runtime& runtime);
  ConsumerWait(const ConsumerWait&) = delete;
  ConsumerWait& operator=(const ConsumerWait&) = delete;
  ~ConsumerWait();

 private:
  Runtime& runtime_;
};

}  // namespace plimsoll::data

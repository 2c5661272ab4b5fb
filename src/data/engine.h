#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <plimsoll/data/pipeline.h>

#include "data/stage.h"

namespace plimsoll::data {

/// Work for a pool thread. `run` is called once, on a pool thread and without any lock; `finish`
/// on the strand afterwards.
class Task {
 public:
  virtual ~Task() = default;
  virtual void run() noexcept = 0;
  virtual void finish() = 0;

 private:
  friend class Engine;
  Bytes credit_ = 0;
};

/// What all stages of a running pipeline share: its budget, its threads, and the strand.
///
/// The strand is the right to run the stages; one thread has it at a time. The consumer takes it in
/// next(); while the consumer waits or is away, a pool thread that has finished a task takes it if
/// it is free, hands on results, submits what has become runnable, and lets it go. Pool threads
/// never wait for it or for memory: a task is submitted only when its input, its place and its
/// byte credit are there.
class Engine {
 public:
  Engine(const Device& device, const PipelineOptions& options);
  ~Engine();

  // Memory.

  const Device& device() const { return device_; }
  const Budget& budget() const { return budget_; }
  /// For tensors that stages make; delivered ones are recharged.
  TensorOptions tensor_options(Tag tag, std::string_view stage) const;
  /// Charges what the consumer receives to Tag::user.
  void deliver(const Element& element) const;
  /// Bytes that could be taken now and still leave what the tasks under way may need.
  Bytes spare() const;
  /// Bytes that tasks hold now; contexts count here.
  std::atomic<Bytes>& task_bytes() { return task_bytes_; }

  // Tasks, on the strand.

  /// True if a task that needs about `bytes` may run now: nothing else runs, or there is credit.
  bool admits(Bytes bytes) const;
  void submit(std::shared_ptr<Task> task, Bytes credit);
  int in_flight() const { return in_flight_; }
  /// True while the consumer itself waits for what is being pulled.
  bool demand() const { return demand_; }
  void set_demand(bool demand) { demand_ = demand; }
  /// True if work ahead should stop for now.
  bool should_yield() const { return wanted_.load(std::memory_order_relaxed) || stopping_; }

  // Settings.

  int threads() const { return threads_; }
  std::uint64_t seed() const { return options_.seed; }
  const PipelineOptions& options() const { return options_; }

  // Running.

  /// `root` gives the elements, `ahead` are pumped; set once before the first next().
  void set_stages(Stage* root, std::vector<Stage*> ahead);
  std::optional<Element> next();
  /// Runs `work` on the strand, with nothing under way but tasks.
  void with_strand(const std::function<void()>& work);
  /// Forgets what was pulled for the consumer; on the strand, before the stages start anew.
  void forget_pulled() { block_.clear(); }
  void cancel();
  /// Ends the threads; tasks that have not begun are dropped.
  void stop();

  void note_skipped(SkippedElement skipped);
  std::vector<SkippedElement> skipped() const;

 private:
  struct Result {
    Pull pull = Pull::pending;
    std::exception_ptr error;
    Element element;
  };

  void work();
  void run_strand();
  void take_strand(std::unique_lock<std::mutex>& lock);
  void release_strand();
  void apply_finished();
  void pump();
  Result poll();
  Result poll_root();

  const PipelineOptions options_;
  const Device device_;
  const Budget budget_;
  const std::string label_;
  const Account user_;
  const int threads_;
  std::atomic<Bytes> task_bytes_ = 0;

  // On the strand.
  Stage* root_ = nullptr;
  std::vector<Stage*> ahead_;
  ElementBlock block_;
  int in_flight_ = 0;
  Bytes promised_ = 0;
  bool demand_ = false;

  mutable std::mutex mutex_;
  std::condition_variable idle_;    ///< pool threads: something to run
  std::condition_variable strand_;  ///< the strand is free, or a result is there
  std::deque<std::shared_ptr<Task>> queue_;
  std::vector<std::shared_ptr<Task>> finished_;
  bool kick_ = false;     ///< stages ahead want pumping
  bool busy_ = false;     ///< someone has the strand
  bool waiting_ = false;  ///< the consumer waits for a result
  std::optional<Result> result_;
  bool cancelled_ = false;
  std::vector<SkippedElement> skipped_;
  std::atomic<int> wanted_ = 0;  ///< threads that wait for the strand
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> pool_;
};

}  // namespace plimsoll::data

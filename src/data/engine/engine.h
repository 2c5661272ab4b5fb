#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <plimsoll/data/pipeline.h>

#include "data/engine/runtime.h"
#include "data/engine/stage.h"

namespace plimsoll::data {

/// What a section does when its strand is run.
class Section {
 public:
  virtual ~Section() = default;
  /// Makes elements as far as there is room; on the strand. True: there is more to do at once.
  virtual bool serve() = 0;
};

/// A section of a running pipeline as its stages see it: memory, tasks, and its strand.
///
/// The strand is the right to run the section's stages; one thread has it at a time. The consumer
/// takes that of the last section in next(); while the consumer waits or is away, a pool thread
/// that has finished a task takes it if it is free, hands on results, submits what has become
/// runnable, and lets it go. A task is submitted only when its input, its place and its byte credit
/// are there.
class Engine {
 public:
  /// `section` is null for the one that gives the consumer its elements.
  explicit Engine(Runtime& runtime, Section* section = nullptr);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() { retire(); }
  /// Waits for whoever has the strand, which is never run again, and for the tasks that are
  /// running; those that have not begun are dropped. Before the section's stages go.
  void retire();

  Runtime& runtime() const { return runtime_; }

  // Memory.

  const Device& device() const { return runtime_.device; }
  const Budget& budget() const { return runtime_.budget; }
  /// For tensors that stages make; delivered ones are recharged.
  TensorOptions tensor_options(Tag tag, std::string_view stage) const;
  /// Charges what the consumer receives to Tag::user.
  void deliver(const Element& element) const;
  /// Bytes that could be taken now and still leave what the tasks under way may need.
  Bytes spare() const;
  /// Bytes that a stage which can do without them leaves to the others: what they need at least and
  /// a quarter of the budget, as large as that is now.
  Bytes reserve() const;
  /// True if `storage` was taken by this pipeline, so that the budget counts it.
  bool owns(const Storage& storage) const;
  /// Bytes that tasks hold now; contexts count here.
  std::atomic<Bytes>& task_bytes() const { return runtime_.task_bytes; }

  // Tasks, on the strand.

  /// True if a task that needs about `bytes` may run now: nothing else runs, or there is credit.
  /// If not, the strand is run again when a task has finished.
  bool admits(Bytes bytes);
  void submit(std::shared_ptr<Task> task, Bytes credit);
  /// True while the consumer itself waits for what is being pulled.
  bool demand() const { return demand_; }
  void set_demand(bool demand) { demand_ = demand; }
  /// True if nothing else runs, and tasks are to be run on the spot.
  bool alone() const { return runtime_.alone; }
  /// True if, moreover, nothing is held ahead: what is refused now has no room at all.
  bool last_resort() const { return runtime_.last_resort; }
  /// True if, even so, a stage would have had memory to give and could not.
  bool relief_refused() const { return runtime_.relief_refused; }
  /// True if work ahead should stop for now.
  bool should_yield() const {
    return wanted_.load(std::memory_order_relaxed) != 0 ||
           runtime_.holds_wanted.load(std::memory_order_relaxed) != 0 || runtime_.stopping;
  }
  /// Has the strand run soon; from any thread.
  void kick();
  /// The section waits for a thread that is not the pool's; until it ends, from any thread, things
  /// are not quiet. The end has the strand run.
  void wait_outside();
  void end_wait_outside();

  // Settings.

  int threads() const { return runtime_.threads; }
  std::uint64_t seed() const { return runtime_.options.seed; }
  const PipelineOptions& options() const { return runtime_.options; }

  // Running.

  /// Is pumped when the strand is run.
  void add_ahead(Stage& stage) { ahead_.push_back(&stage); }
  /// Seconds until now that the consumer has spent in next(); from any thread.
  double waited_s() const { return runtime_.waited_s(); }
  /// Is asked for memory when the consumer would have to go without.
  void add_relief(Stage& stage) { relief_.push_back(&stage); }
  /// Gives the elements; set once before the first next().
  void set_root(Stage& root) { root_ = &root; }
  std::optional<Element> next();
  /// Runs `work` while no strand is run, with nothing under way but tasks; `drained`: not even
  /// those, and nothing begins again before the consumer asks.
  void with_strands(const std::function<void()>& work, bool drained = false);
  /// Runs `work` on the strand, waiting for whoever has it.
  void with_own_strand(const std::function<void()>& work);
  /// The position of the consumer; on the strand. After an error with save_before_errors, the one
  /// before it.
  StatePtr position() const { return before_ != nullptr ? before_ : root_->save(); }
  /// Forgets what was pulled for the consumer; on the strand, before the stages start anew.
  void forget_pulled() {
    block_.clear();
    before_ = nullptr;
  }
  /// Asks the stages that can for memory, while no strand is run: bytes that came free.
  Bytes relieve_stages() {
    std::exception_ptr refusal;
    return relieve(refusal);
  }
  void cancel();

  void note_skipped(SkippedElement skipped);
  std::vector<SkippedElement> skipped() const;
  std::int64_t skipped_count() const;
  std::uint64_t epoch() const;
  std::uint64_t set_epoch(std::uint64_t epoch);
  /// True while the consumer is in next().
  bool consuming() const { return consuming_; }

 private:
  friend class Runtime;
  struct Result {
    Pull pull = Pull::pending;
    std::exception_ptr error;
    Element element;
    bool open() const { return pull == Pull::pending && !error; }
  };

  void run_strand(std::unique_lock<std::mutex>& lock);
  void take_strand(std::unique_lock<std::mutex>& lock);
  void let_go();
  /// With the mutex: whether the consumer, which waits, has something to do.
  bool may_go_on() const;
  void apply_finished();
  void pump();
  bool has_ahead() const;
  bool serve_consumer();
  Result poll();
  Result poll_alone();
  Bytes relieve(std::exception_ptr& refusal);
  bool refused_here(const std::exception_ptr& error) const;

  Runtime& runtime_;
  Section* const section_;

  // On the strand.
  Stage* root_ = nullptr;
  std::vector<Stage*> ahead_;
  std::vector<Stage*> relief_;
  ElementBlock block_;
  StatePtr before_;  ///< the position before the error that the consumer has just got
  bool demand_ = false;

  // Under the runtime's mutex.
  std::vector<std::shared_ptr<Task>> finished_;
  bool kicked_ = false;   ///< there is something to do
  bool listed_ = false;   ///< among those that are ready
  bool busy_ = false;     ///< someone has the strand
  bool waiting_ = false;  ///< the consumer waits for a result
  bool retired_ = false;
  int running_ = 0;  ///< its tasks that are run
  std::optional<Result> result_;

  std::atomic<int> wanted_ = 0;  ///< threads that wait for the strand
  std::atomic<bool> starved_ = false;
  std::atomic<bool> consuming_ = false;
};

}  // namespace plimsoll::data

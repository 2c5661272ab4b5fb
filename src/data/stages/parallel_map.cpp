#include "data/stages/parallel_map.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/out_of_memory.h>

#include "data/engine/inbox.h"
#include "data/engine/task_context.h"
#include "data/engine/thread_tuner.h"

namespace plimsoll::data {
namespace {

class ParallelMap;

constexpr int kMostFailures = 2;

/// Calls that may block go to their thread several at a time where they are short and it is the
/// only one, so that handing them over, and whatever they lock, costs little for each: about as
/// many as take this long. Several threads share the calls evenly, one by one.
constexpr double kChunkNs = 200'000;
constexpr double kMostChunk = 64;
/// No more calls of a chunk begin after this.
constexpr std::chrono::milliseconds kChunkLimit(2);

/// One element on its way. A pool thread writes `output`, `error`, `taken`, `busy_ns` while the
/// state is `running`; everything else belongs to the strand.
struct Slot final : Task {
  enum class Where : std::uint8_t { waiting, running, done };

  void run() noexcept override;
  void finish() override;

  ParallelMap* stage = nullptr;  ///< null once given up
  std::shared_ptr<const MapSetting> setting;
  Element input;
  std::vector<Tensor> placed;
  bool has_place = false;
  std::uint64_t unit = 0;  ///< units of the input taken, this one included
  Where where = Where::waiting;
  int failures = 0;  ///< for want of memory

  Element output;
  std::exception_ptr error;
  bool out_of_memory = false;
  Bytes taken = 0;
  Bytes missing = 0;
  std::int64_t busy_ns = 0;
};

/// Several of them, one after the other, in a thread that may block.
struct Chunk final : Task {
  void run() noexcept override;
  void finish() override;
  bool may_block() const override { return true; }

  CallsWithin within;
  std::vector<std::shared_ptr<Slot>> slots;
  std::size_t called = 0;  ///< of `slots`; the others go back
};

class ParallelMap final : public Stage {
 public:
  ParallelMap(StagePtr input, Engine& engine, const MapFunction& function,
              const MapOptions& options, std::uint64_t number, CallsWithin within)
      : inbox_(std::move(input)),
        engine_(engine),
        function_(function),
        number_(number),
        ordered_(options.ordered),
        may_block_(within != nullptr),
        within_(std::move(within)),
        tuned_(options.parallel == kAutotune),
        tuner_(tuned_ ? engine.threads() : options.parallel),
        declared_(function.output ? function.output->nbytes().value_or(0) : 0) {
    set_epoch(0);
  }
  ~ParallelMap() override {
    for (const auto& slot : window_) slot->stage = nullptr;
  }

  void start(std::uint64_t epoch) override {
    give_up();
    set_epoch(epoch);
    inbox_.start(epoch);
    started_ = true;
  }
  StatePtr save() const override {
    return make_state({setting_->epoch}, {inbox_.position(delivered_)});
  }
  void restore(const State& state) override {
    give_up();
    set_epoch(state.words.at(0));
    inbox_.restore(*state.inputs.at(0));
    started_ = true;
  }
  std::size_t state_words() const override { return 1 + inbox_.state_words(); }
  bool runs_ahead() const override { return true; }
  void pump() override {
    if (!started_) return;  // a cache after it may never need it
    try {
      dispatch(true);
    } catch (const Error&) {  // comes again when the consumer asks
    }
  }
  bool has_tasks() const override { return true; }
  Bytes held() const override {
    Bytes bytes = 0;
    for (const auto& slot : window_) {
      if (slot->where == Slot::Where::done) bytes += slot->output.nbytes();
    }
    return bytes;
  }
  std::string setting() const override {
    const int now = tuner_.threads();
    if (now < tuner_.most()) return fmt::format("{} of {} threads", now, tuner_.most());
    return fmt::format("{} {}", now, now == 1 ? "thread" : "threads");
  }
  bool offer(Placement& placement) override {
    const auto& output = setting_->function.output;
    // Rows belong to elements in the order of the input.
    if (!ordered_ || !output || !output->nbytes()) return false;
    placement_ = &placement;
    return true;
  }

  void finished(Slot& slot);
  void finished(Chunk& chunk);
  /// One huge picture must not keep all that follow from running side by side.
  void expect(Bytes taken) { largest_ = std::max(taken, largest_ - largest_ / 64); }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override;

 private:
  void set_epoch(std::uint64_t epoch) {
    auto setting = std::make_shared<MapSetting>(engine_, function_, number_);
    setting->epoch = epoch;
    setting_ = std::move(setting);
  }
  void give_up();
  void dispatch(bool ahead);
  void dispatch_chunks(bool ahead);
  bool take_input();
  bool find_place(Slot& slot);
  void run(const std::shared_ptr<Slot>& slot);
  void leave(Slot& slot);
  void run_alone();
  bool next_is_done();
  std::size_t window() const;
  /// Elements that go to a thread at a time.
  std::size_t chunk() const {
    if (!may_block_ || tuner_.most() > 1 || call_ns_ == 0) return 1;
    return static_cast<std::size_t>(std::clamp(kChunkNs / call_ns_, 1.0, kMostChunk));
  }
  /// Calls that may be under way or in the queue: where the pool's threads are the limit, each
  /// finds its next task there.
  int queued() const {
    const int threads = tuner_.threads();
    return threads < engine_.threads() ? threads : threads + engine_.threads();
  }
  void tune();

  Inbox inbox_;
  Engine& engine_;
  const MapFunction function_;
  const std::uint64_t number_;
  const bool ordered_;
  const bool may_block_;
  const CallsWithin within_;
  const bool tuned_;
  ThreadTuner tuner_;
  const Bytes declared_;
  std::shared_ptr<const MapSetting> setting_;
  bool started_ = false;
  Placement* placement_ = nullptr;
  std::deque<std::shared_ptr<Slot>> window_;
  std::uint64_t delivered_ = 0;
  int running_ = 0;
  int chunks_ = 0;      ///< under way
  double call_ns_ = 0;  ///< about what a call takes; 0: none was made yet
  Bytes largest_ = 0;   ///< about what calls take: the most, which fades over some sixty of them
  bool ended_ = false;
  Stopwatch no_input_;
  Stopwatch no_room_;
  Stopwatch no_memory_;
};

void Slot::run() noexcept {
  const auto begin = std::chrono::steady_clock::now();
  missing = 0;
  TaskContext context(*setting, input.id, placed);
  try {
    output = setting->call(input, context);
  } catch (const OutOfMemory& refused) {
    out_of_memory = true;
    error = std::current_exception();
    missing = refused.report().requested;
  } catch (...) {
    error = std::current_exception();
  }
  taken = context.taken() + missing;
  busy_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin)
          .count();
}

void Slot::finish() {
  if (stage != nullptr) stage->finished(*this);
}

void Chunk::run() noexcept {
  within([this] {
    const auto begin = std::chrono::steady_clock::now();
    do {
      slots[called++]->run();
    } while (called < slots.size() && std::chrono::steady_clock::now() - begin < kChunkLimit);
  });
}

void Chunk::finish() {
  // Given up together, or not at all.
  if (slots.front()->stage != nullptr) slots.front()->stage->finished(*this);
}

void ParallelMap::finished(Slot& slot) {
  --running_;
  expect(slot.taken);
  const double busy_s = static_cast<double>(slot.busy_ns) * 1e-9;
  stats_.busy_s += busy_s;
  tuner_.note_busy(busy_s);
  slot.where = Slot::Where::done;
  if (slot.out_of_memory) {
    slot.where = Slot::Where::waiting;
    ++slot.failures;
    slot.out_of_memory = false;
    slot.error = nullptr;
  }
}

void ParallelMap::finished(Chunk& chunk) {
  --chunks_;
  double spent = 0;
  for (std::size_t i = 0; i < chunk.slots.size(); ++i) {
    Slot& slot = *chunk.slots[i];
    if (i < chunk.called) {
      spent += static_cast<double>(slot.busy_ns);
      finished(slot);
    } else {
      --running_;
      slot.where = Slot::Where::waiting;
    }
  }
  const double mean = spent / static_cast<double>(chunk.called);
  call_ns_ = call_ns_ == 0 ? mean : (3 * call_ns_ + mean) / 4;
}

void ParallelMap::give_up() {
  for (const auto& slot : window_) {
    slot->stage = nullptr;
    leave(*slot);
  }
  window_.clear();
  running_ = 0;
  chunks_ = 0;
  delivered_ = 0;
  ended_ = false;
}

void ParallelMap::leave(Slot& slot) {
  if (slot.has_place) placement_->left();
  slot.has_place = false;
  // A pool thread may still hold the slot for a moment; it must not hold the batch with it.
  if (slot.where == Slot::Where::done) slot.placed.clear();
}

/// In place, batches bound what is under way; otherwise twice the threads keeps all of them busy
/// while the oldest is slow.
std::size_t ParallelMap::window() const {
  const auto twice = static_cast<std::size_t>(tuner_.threads()) * chunk() * 2;
  return placement_ != nullptr ? twice + 1024 : twice;
}

void ParallelMap::tune() {
  if (!tuned_ || engine_.alone()) return;
  const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
  tuner_.look(now.count(), engine_.waited_s());
}

void ParallelMap::run(const std::shared_ptr<Slot>& slot) {
  slot->where = Slot::Where::running;
  ++running_;
  const Bytes own = slot->has_place ? 0 : declared_;
  engine_.submit(slot, std::max(largest_, own));
}

bool ParallelMap::take_input() {
  try {
    const Pull pulled = inbox_.fill(static_cast<std::size_t>(tuner_.threads()));
    ended_ = pulled == Pull::end;
    if (pulled == Pull::pending && running_ == 0) no_input_.on();
    if (pulled != Pull::ready) return false;
    no_input_.off(stats_.wait_input_s);
  } catch (const OutOfMemory&) {
    // What is under way goes first: it holds memory that its input may be waiting for.
    if (window_.empty()) throw;
    return false;
  } catch (const DataError&) {
    auto slot = std::make_shared<Slot>();
    slot->error = std::current_exception();
    slot->unit = inbox_.taken();
    slot->where = Slot::Where::done;
    window_.push_back(std::move(slot));
    return true;
  }
  auto slot = std::make_shared<Slot>();
  slot->stage = this;
  slot->setting = setting_;
  slot->input = std::move(inbox_.front());
  inbox_.pop();
  slot->unit = inbox_.taken();
  window_.push_back(std::move(slot));
  return true;
}

bool ParallelMap::find_place(Slot& slot) {
  if (placement_ == nullptr || slot.has_place) return true;
  auto placed = placement_->place();
  if (!placed) return false;
  slot.placed = std::move(*placed);
  slot.has_place = true;
  return true;
}

/// The same for calls that may block: as many threads, each with a chunk. What is made ahead waits
/// for a whole one.
void ParallelMap::dispatch_chunks(bool ahead) {
  const std::size_t size = chunk();
  std::size_t next = 0;
  while (chunks_ < tuner_.threads() && !(ahead && engine_.should_yield())) {
    auto made = std::make_shared<Chunk>();
    made->within = within_;
    const Bytes each = std::max(largest_, placement_ != nullptr ? 0 : declared_);
    bool more = true;
    while (more && made->slots.size() < size) {
      while (next < window_.size() && window_[next]->where != Slot::Where::waiting) ++next;
      if (next == window_.size()) {
        more = !ended_ && window_.size() < window() && take_input();
        continue;
      }
      const std::shared_ptr<Slot>& slot = window_[next];
      const bool retried = slot->failures > 0;
      if (retried && (ahead || !engine_.demand() || slot->failures >= kMostFailures)) break;
      if (!engine_.admits(each * (made->slots.size() + 1))) {
        no_memory_.on();
        break;
      }
      if (!find_place(*slot)) {
        no_room_.on();
        break;
      }
      no_memory_.off(stats_.wait_memory_s);
      no_room_.off(stats_.wait_room_s);
      made->slots.push_back(slot);
      ++next;
      if (retried) break;
    }
    const std::size_t count = made->slots.size();
    if (count == 0 || (ahead && count < size && !ended_ && window_.size() >= window())) return;
    for (const auto& slot : made->slots) slot->where = Slot::Where::running;
    running_ += static_cast<int>(count);
    ++chunks_;
    engine_.submit(std::move(made), each * count);
  }
}

/// Submits what may run, in stream order.
void ParallelMap::dispatch(bool ahead) {
  if (engine_.alone()) return;
  if (may_block_) return dispatch_chunks(ahead);
  const Bytes own = placement_ != nullptr ? 0 : declared_;
  std::size_t next = 0;
  while (running_ < queued() && !(ahead && engine_.should_yield())) {
    while (next < window_.size() && window_[next]->where != Slot::Where::waiting) ++next;
    if (next == window_.size()) {
      if (ended_ || window_.size() >= window() || !take_input()) return;
      continue;
    }
    // What has failed for want of memory is tried again when the consumer waits for it, and then,
    // when nothing else runs.
    const int failures = window_[next]->failures;
    if (failures > 0 && (ahead || !engine_.demand() || failures >= kMostFailures)) return;
    if (!engine_.admits(std::max(largest_, own))) {
      no_memory_.on();
      tuner_.note_no_memory();
      return;
    }
    if (!find_place(*window_[next])) {
      no_room_.on();
      return;
    }
    no_memory_.off(stats_.wait_memory_s);
    no_room_.off(stats_.wait_room_s);
    run(window_[next]);
  }
}

/// While nothing else runs: the oldest one, on the spot. Throws OutOfMemory where there may yet be
/// room for it, with the element left where it is.
void ParallelMap::run_alone() {
  if (window_.empty() && (ended_ || !take_input())) return;
  Slot& slot = *window_.front();
  if (slot.where != Slot::Where::waiting) return;
  find_place(slot);
  slot.run();
  stats_.busy_s += static_cast<double>(slot.busy_ns) * 1e-9;
  expect(slot.taken);
  if (!slot.out_of_memory) {
    slot.where = Slot::Where::done;
    return;
  }
  slot.out_of_memory = false;
  const std::exception_ptr error = std::exchange(slot.error, nullptr);
  try {
    std::rethrow_exception(error);
  } catch (const OutOfMemory& refused) {
    if (!setting_->is_final(refused.report())) throw;
    slot.where = Slot::Where::done;
    slot.error = std::make_exception_ptr(DataError(
        setting_->failure(slot.input, setting_->too_large(refused.report(), slot.taken))));
  }
}

/// Out of order, one that is done comes to the front.
bool ParallelMap::next_is_done() {
  const auto done = [](const auto& slot) { return slot->where == Slot::Where::done; };
  if (window_.empty()) return false;
  if (ordered_ || done(window_.front())) return done(window_.front());
  const auto found = std::find_if(window_.begin(), window_.end(), done);
  if (found == window_.end()) return false;
  std::rotate(window_.begin(), found, found + 1);
  return true;
}

Pull ParallelMap::pull(ElementBlock& out, std::size_t max) {
  const std::size_t before = out.size();
  tuner_.note_asked();
  if (!next_is_done()) tuner_.note_empty();
  tune();
  for (;;) {
    while (next_is_done() && out.size() - before < max) {
      const std::shared_ptr<Slot> slot = window_.front();
      if (slot->error && out.size() > before) return Pull::ready;
      window_.pop_front();
      delivered_ = ordered_ ? slot->unit : std::max(delivered_, slot->unit);
      inbox_.forget(delivered_);
      leave(*slot);
      // Out of the slot first: a pool thread may hold that for a moment, and must not be the last
      // owner of what the consumer is looking at.
      if (slot->error) std::rethrow_exception(std::exchange(slot->error, nullptr));
      out.push_back(std::move(slot->output));
    }
    if (out.size() > before) {
      const bool demand = engine_.demand();
      engine_.set_demand(false);
      pump();
      engine_.set_demand(demand);
      return Pull::ready;
    }
    if (engine_.alone()) {
      run_alone();
    } else {
      dispatch(false);
    }
    if (window_.empty()) return ended_ ? Pull::end : Pull::pending;
    if (!next_is_done()) return Pull::pending;
  }
}

}  // namespace

StagePtr make_parallel_map(StagePtr input, Engine& engine, const MapFunction& function,
                           const MapOptions& options, std::uint64_t number) {
  return std::make_unique<ParallelMap>(std::move(input), engine, function, options, number,
                                       nullptr);
}

StagePtr make_blocking_map(StagePtr input, Engine& engine, const MapFunction& function,
                           const MapOptions& options, std::uint64_t number, CallsWithin within) {
  return std::make_unique<ParallelMap>(std::move(input), engine, function, options, number,
                                       std::move(within));
}

}  // namespace plimsoll::data

#include "data/engine/blocking_generator.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/engine.h"
#include "data/engine/pipeline_thread.h"

namespace plimsoll::data {
namespace {

constexpr std::size_t kAhead = 4;

/// Cannot seek: a restored position is reached by generating again.
class BlockingGenerator final : public Stage {
 public:
  BlockingGenerator(Generator generator, Engine& engine)
      : generator_(std::move(generator)), engine_(engine) {}
  ~BlockingGenerator() override { end_thread(); }

  void start(std::uint64_t /*epoch*/) override {
    end_thread();
    count_ = 0;
    replay_ = 0;
  }
  StatePtr save() const override { return make_state({count_ + replay_}); }
  void restore(const State& state) override {
    start(0);
    replay_ = state.words.at(0);
  }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    const std::size_t before = out.size();
    std::unique_lock lock(mutex_);
    while (out.size() - before < max) {
      if (items_.empty()) break;
      const bool failed = items_.front().error != nullptr;
      if (failed && replay_ == 0 && out.size() > before) break;  // the elements before it go first
      Item item = std::move(items_.front());
      items_.pop_front();
      room_.notify_one();
      if (replay_ > 0) {
        --replay_;
        ++count_;
        continue;
      }
      ++count_;
      if (failed) {
        lock.unlock();
        fail(std::move(item.error));
      }
      item.element.id = count_ - 1;
      out.push_back(std::move(item.element));
    }
    if (out.size() > before) return Pull::ready;
    if (ended_) return Pull::end;
    if (!std::exchange(awaited_, true)) engine_.wait_outside();
    return Pull::pending;
  }

 private:
  struct Item {
    Element element;
    std::exception_ptr error;
  };

  [[noreturn]] void fail(std::exception_ptr error) {
    try {
      std::rethrow_exception(std::exchange(error, nullptr));
    } catch (const std::exception& thrown) {
      throw DataError(fmt::format("[from_generator] {}, element {}: {}", generator_.name,
                                  count_ - 1, thrown.what()));
    }
  }

  void work() {
    mark_pipeline_thread();
    Generator::Next next;
    for (;;) {
      Item item;
      bool end = false;
      try {
        if (!next) next = generator_.begin();
        std::optional<Element> element = next();
        end = !element;
        if (element) item.element = std::move(*element);
      } catch (const std::exception&) {
        item.error = std::current_exception();
        end = !next;  // could not begin
      }
      std::unique_lock lock(mutex_);
      if (!end || item.error) items_.push_back(std::move(item));
      ended_ = end;
      if (std::exchange(awaited_, false)) engine_.end_wait_outside();
      room_.wait(lock, [&] { return stop_ || ended_ || items_.size() < kAhead; });
      if (stop_ || ended_) return;
    }
  }

  void end_thread() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
      if (std::exchange(awaited_, false)) engine_.end_wait_outside();
    }
    room_.notify_all();
    if (thread_.joinable()) thread_.join();
    items_.clear();
    stop_ = false;
    ended_ = false;
  }

  const Generator generator_;
  Engine& engine_;
  std::uint64_t count_ = 0;
  std::uint64_t replay_ = 0;
  std::thread thread_;

  std::mutex mutex_;
  std::condition_variable room_;
  std::deque<Item> items_;
  bool ended_ = false;
  bool awaited_ = false;  ///< the strand found nothing
  bool stop_ = false;
};

}  // namespace

StagePtr make_blocking_generator(Generator generator, Engine& engine) {
  return std::make_unique<BlockingGenerator>(std::move(generator), engine);
}

}  // namespace plimsoll::data

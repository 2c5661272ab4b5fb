#include "data/engine/read_ahead.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace plimsoll::data {
namespace {

/// More threads than this gain little: memory is then the limit.
constexpr int kMostReaders = 4;
constexpr Bytes kShortRun = KiB(512);
constexpr Bytes kLongRun = MiB(2);
/// Of what is spare, so that a run takes little of it.
constexpr Bytes kRunShare = 16;

}  // namespace

/// A run on its way. A pool thread writes `elements` and `seconds` until `done`, which belongs to
/// the strand as everything else does.
struct ReadAhead::Reading final : Task {
  Reading(ReadAhead& ahead, Run what)
      : owner(&ahead),
        keep(ahead.keep_),
        source(ahead.source_),
        engine(ahead.engine_),
        run_(std::move(what)) {}

  void run() noexcept override {
    const auto begin = std::chrono::steady_clock::now();
    Bytes taken = 0;
    try {
      elements.reserve(run_.indices.size());
      for (const std::int64_t index : run_.indices) {
        elements.push_back(source.get(index, engine));
        elements.back().id = static_cast<std::uint64_t>(index);
        const Bytes bytes = elements.back().nbytes();
        engine.task_bytes() += bytes;
        taken += bytes;
      }
    } catch (...) {  // the stage reads it again, and says what is wrong
    }
    engine.task_bytes() -= taken;
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  void finish() override {
    if (owner == nullptr) return;
    done = true;
    owner->busy_s_ += seconds;
  }

  std::int64_t first() const { return run_.first; }
  std::int64_t end() const { return run_.first + static_cast<std::int64_t>(run_.indices.size()); }

  ReadAhead* owner;  ///< null once given up
  const NodePtr keep;
  const IndexedSource& source;
  Engine& engine;
  std::vector<Element> elements;
  double seconds = 0;
  bool done = false;

 private:
  const Run run_;
};

ReadAhead::ReadAhead(NodePtr keep, const IndexedSource& source, Engine& engine)
    : keep_(std::move(keep)),
      source_(source),
      engine_(engine),
      most_runs_(engine.threads() > 1 && source.reads_in_any_thread()
                     ? 2 * static_cast<std::size_t>(std::min(engine.threads(), kMostReaders))
                     : 0) {}

void ReadAhead::clear() {
  for (const auto& reading : window_) reading->owner = nullptr;
  window_.clear();
  failed_until_ = 0;
}

bool ReadAhead::has_room(std::int64_t position) const {
  return window_.size() < most_runs_ && position >= failed_until_ && !engine_.alone();
}

Bytes ReadAhead::most_bytes() const {
  return std::clamp(engine_.spare() / kRunShare, kShortRun, kLongRun);
}

std::int64_t ReadAhead::end(std::int64_t position) const {
  return window_.empty() ? position : window_.back()->end();
}

bool ReadAhead::begin(Run run) {
  // What the others need comes first: the stream goes on without this.
  if (engine_.spare() < engine_.reserve() + 2 * run.bytes) return false;
  const Bytes bytes = run.bytes;
  auto reading = std::make_shared<Reading>(*this, std::move(run));
  window_.push_back(reading);
  engine_.submit(std::move(reading), bytes);
  return true;
}

std::int64_t ReadAhead::before_next(std::int64_t position) const {
  if (window_.empty()) return std::numeric_limits<std::int64_t>::max();
  return window_.front()->first() - position;
}

Pull ReadAhead::take(std::int64_t position, ElementBlock& out, std::size_t max) {
  const std::size_t before = out.size();
  while (!window_.empty() && window_.front()->first() <= position && out.size() - before < max) {
    Reading& reading = *window_.front();
    if (!reading.done) return out.size() > before ? Pull::ready : Pull::pending;
    const auto next = static_cast<std::size_t>(position - reading.first());
    if (next >= reading.elements.size()) {  // where it failed
      failed_until_ = position + 1;
      window_.pop_front();
      break;
    }
    out.push_back(std::move(reading.elements[next]));
    if (++position == reading.end()) window_.pop_front();
  }
  return out.size() > before ? Pull::ready : Pull::end;
}

double ReadAhead::take_busy_s() { return std::exchange(busy_s_, 0.0); }

Bytes ReadAhead::held() const {
  Bytes bytes = 0;
  for (const auto& reading : window_) {
    if (!reading->done) continue;
    for (const Element& element : reading->elements) bytes += element.nbytes();
  }
  return bytes;
}

}  // namespace plimsoll::data

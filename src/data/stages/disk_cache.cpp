#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/log.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/base/storage_error.h>

#include "data/cache/cache_folder.h"
#include "data/cache/fingerprint.h"
#include "data/cache/segment.h"
#include "data/engine/engine.h"
#include "data/engine/inbox.h"
#include "data/engine/node.h"
#include "data/engine/row_sink.h"

namespace plimsoll::data {
namespace {

/// What is read at a time; twice that is what writing takes.
constexpr Bytes kBuffer = KiB(128);

/// Elements are numbered as the input gives them. Those of whole segments come from files, and from
/// memory as long as there is some to spare; the others are made by the input, and written. The
/// input stands after `made_` elements.
class DiskCacheStage final : public Stage, public RowSource {
 public:
  DiskCacheStage(StagePtr input, Engine& engine, NodePtr upstream, std::string folder,
                 const CacheOptions& options, std::uint64_t seed)
      : inbox_(std::move(input)),
        engine_(engine),
        upstream_(std::move(upstream)),
        folder_(std::move(folder)),
        options_(options),
        seed_(seed),
        results_(engine.tensor_options(Tag::cache, "cache")),
        charge_(engine.budget().charge(Tag::cache, "cache", 2 * kBuffer)) {}

  void start(std::uint64_t epoch) override {
    if (!started_) begin(epoch);
    // Errors are told in the first pass.
    seen_ = std::max(seen_, taken());
    at_ = 0;
  }
  StatePtr save() const override { return make_state({epoch_, at_, std::max(seen_, taken())}); }
  void restore(const State& state) override {
    if (!started_ || epoch_ != state.words.at(0)) begin(state.words.at(0));
    at_ = state.words.at(1);
    seen_ = state.words.at(2);
    reader_.reset();
    abandon();  // what was made ahead goes
  }
  void write_rows_to(RowSink& sink) override {
    if (upstream_->spec().nbytes() && !upstream_->spec().components.empty()) sink_ = &sink;
  }
  bool can_relieve() const override { return true; }
  Bytes relieve() override {
    Bytes freed = 0;
    for (const Element& element : memory_) freed += element.nbytes();
    memory_.clear();
    memory_.shrink_to_fit();
    remembers_ = false;
    return freed;
  }
  Bytes held() const override {
    Bytes total = 0;
    for (const Element& element : memory_) total += element.nbytes();
    return total;
  }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    const std::size_t before = out.size();
    for (;;) {
      if (at_ < memory_.size()) {
        const std::size_t count = std::min<std::size_t>(max, memory_.size() - at_);
        for (std::size_t i = 0; i < count; ++i) out.push_back(memory_[at_++]);
        return Pull::ready;
      }
      if (at_ < stored()) {
        if (read(out)) return Pull::ready;
        continue;  // a segment was damaged: it is made again
      }
      if (complete_) return Pull::end;
      if (adopt()) continue;  // another process has written it
      const Pull made = make(out, max);
      if (made != Pull::ready || out.size() > before) return made;
    }
  }

 private:
  struct Segment {
    std::uint64_t end = 0;    ///< elements up to its end
    std::uint64_t units = 0;  ///< of the input up to its end
    StatePtr after;
    Bytes bytes = 0;
  };

  /// Units of the input in this epoch.
  std::uint64_t taken() const { return runs_ ? inbox_.taken() : 0; }
  std::uint64_t stored() const { return segments_.empty() ? 0 : segments_.back().end; }
  std::string path(std::uint64_t number) const { return place_ + "/" + segment_name(number); }

  void begin(std::uint64_t epoch) {
    started_ = true;
    complete_ = false;
    epoch_ = epoch;
    seen_ = 0;
    segments_.clear();
    memory_.clear();
    remembers_ = true;
    writing_ = true;
    reader_.reset();
    writer_.reset();
    behind_ = true;  // it starts when something has to be made: it may work ahead
    runs_ = false;
    made_ = 0;
    const Fingerprint fingerprint =
        fingerprint_of(*upstream_, mix_ids(seed_, epoch), options_.segment);
    try {
      place_ = prepare_cache_folder(folder_, fingerprint.name, fingerprint.text);
    } catch (const Error& error) {
      stop_writing(error.what());
      place_ = folder_ + "/" + fingerprint.name;
    }
    while (!complete_ && adopt()) {
    }
  }

  /// Takes a whole segment that follows those known; false if there is none.
  bool adopt() {
    const std::uint64_t number = segments_.size();
    std::error_code error;
    if (!std::filesystem::exists(path(number), error)) return false;
    try {
      const OpenSegment found = open_segment(path(number), number);
      add(found.info, std::filesystem::file_size(path(number), error));
      abandon();
      return true;
    } catch (const DataError& broken) {
      discard(number, broken.what());
      return false;
    }
  }
  void add(const SegmentInfo& info, Bytes bytes) {
    segments_.push_back({stored() + info.elements, info.units, info.after, bytes});
    complete_ = info.last;
  }

  /// From the file; false where the segment is damaged and was dropped.
  bool read(ElementBlock& out) {
    const auto found =
        std::upper_bound(segments_.begin(), segments_.end(), at_,
                         [](std::uint64_t at, const Segment& each) { return at < each.end; });
    const auto number = static_cast<std::uint64_t>(found - segments_.begin());
    try {
      if (!reader_ || reading_ != number || reader_at_ > at_) {
        reader_.reset();
        reader_.emplace(open_segment(path(number), number),
                        engine_.device().arena().allocate(kBuffer, results_.account));
        reading_ = number;
        reader_at_ = found == segments_.begin() ? 0 : std::prev(found)->end;
      }
      for (; reader_at_ < at_; ++reader_at_) reader_->skip();
      Element element;
      if (sink_ != nullptr && !remembers_) {
        const RowPlace row{*sink_, upstream_->spec(), out.size()};
        element = reader_->next(engine_.device(), results_, &row);
      } else {
        element = reader_->next(engine_.device(), results_);
        remember(element);
      }
      out.push_back(std::move(element));
      ++reader_at_;
      ++at_;
      return true;
    } catch (const DataError& broken) {
      const std::string where =
          reader_ ? fmt::format("{}: offset {}: ", printable(path(number)), reader_->position())
                  : "";
      reader_.reset();
      discard(number, where + broken.what());
      return false;
    }
  }

  /// Keeps an element in memory, too, as long as there is plenty of it; it is then read-only, as
  /// later passes deliver it again.
  void remember(Element& element) {
    if (!remembers_ || at_ != memory_.size()) return;
    if (engine_.spare() < engine_.reserve() + element.nbytes()) {
      remembers_ = false;
      return;
    }
    for (std::size_t i = 0; i < element.size(); ++i) {
      if (!element[i].is_scalar()) element[i] = Value(element[i].tensor().read_only());
    }
    memory_.push_back(element);
  }

  /// A segment that cannot be used goes, and those after it are looked at again when their turn
  /// comes.
  void discard(std::uint64_t number, const std::string& why) {
    log_warning(fmt::format("[cache] {}; it is made again", why));
    std::error_code error;
    std::filesystem::remove(path(number), error);
    if (segments_.size() > number) segments_.resize(static_cast<std::size_t>(number));
    complete_ = false;
    seen_ = std::max(seen_, taken());
    abandon();
  }

  /// Forgets what was made after the last whole segment.
  void abandon() {
    writer_.reset();
    behind_ = true;
  }

  /// Puts the input where the last whole segment ends.
  void rewind_input() {
    behind_ = false;
    runs_ = true;
    made_ = stored();
    if (segments_.empty()) {
      inbox_.start(epoch_);
    } else {
      inbox_.restore(*segments_.back().after, segments_.back().units);
    }
  }

  /// From the input, writing what is made. Elements before at_ are only written.
  Pull make(ElementBlock& out, std::size_t max) {
    if (made_ > at_ || made_ < stored() || behind_) {
      abandon();
      rewind_input();
    }
    inbox_.forget(inbox_.taken());
    Pull filled = Pull::pending;
    try {
      filled = inbox_.fill(max);
    } catch (const DataError&) {
      if (taken() > seen_) throw;
      return Pull::ready;  // was seen before
    }
    if (filled == Pull::pending) return filled;
    if (filled == Pull::end) {
      finish(true);
      return filled;
    }
    for (std::size_t left = max; left > 0 && inbox_.ready() > 0; --left) {
      write(inbox_.front());
      const bool wanted = made_ == at_;
      ++made_;
      if (wanted) {
        out.push_back(std::move(inbox_.front()));
        ++at_;
      }
      inbox_.pop();
      if (writer_ && writer_->bytes() >= options_.segment) finish(false);
    }
    return Pull::ready;
  }

  void write(const Element& element) {
    if (!writing_) return;
    try {
      if (!writer_) {
        // In the middle of a segment none begins.
        if (made_ != stored()) return;
        writer_.emplace(place_, segments_.size());
      }
      writer_->add(element);
      Bytes total = writer_->bytes();
      for (const Segment& each : segments_) total += each.bytes;
      if (total > options_.quota) {
        stop_writing(fmt::format("its quota of {} is full", format_bytes(options_.quota)));
      }
    } catch (const StorageError& error) {
      stop_writing(error.what());
    } catch (const DataError& error) {
      stop_writing(error.what());
    }
  }
  void finish(bool last) {
    if (!writing_) return;
    try {
      if (!writer_ && last && made_ == stored()) writer_.emplace(place_, segments_.size());
      if (!writer_) return;
      const Bytes bytes = writer_->bytes();
      const SegmentInfo info =
          writer_->finish(last, inbox_.taken(), last ? nullptr : inbox_.position());
      writer_.reset();
      add(info, bytes);
    } catch (const Error& error) {
      stop_writing(error.what());
    }
  }
  void stop_writing(const std::string& why) {
    writer_.reset();
    if (!std::exchange(writing_, false)) return;
    log_warning(fmt::format("[cache] {}: {}; what does not fit is made again in each epoch",
                            printable(folder_), why));
  }

  Inbox inbox_;
  Engine& engine_;
  NodePtr upstream_;
  const std::string folder_;
  const CacheOptions options_;
  const std::uint64_t seed_;
  TensorOptions results_;
  Charge charge_;
  RemedyHandle remedy_ =
      Budget::remedy("keep fewer cached elements in memory; they are on disk", results_.account);

  bool started_ = false;
  bool complete_ = false;  ///< the segments hold all there is
  bool writing_ = true;    ///< there is room on disk
  bool remembers_ = true;  ///< there is room in memory
  bool runs_ = false;      ///< the input was started in this epoch
  bool behind_ = false;    ///< the input must go back to the end of the last segment
  std::uint64_t epoch_ = 0;
  std::uint64_t seen_ = 0;  ///< units of the input whose errors have been thrown before
  std::string place_;
  std::vector<Segment> segments_;
  RowSink* sink_ = nullptr;  ///< for elements that are not kept in memory
  ElementBlock memory_;      ///< the first elements, read-only
  std::uint64_t at_ = 0;
  std::uint64_t made_ = 0;
  std::optional<SegmentReader> reader_;
  std::uint64_t reading_ = 0;    ///< the segment of reader_
  std::uint64_t reader_at_ = 0;  ///< the element it stands before
  std::optional<SegmentWriter> writer_;
};

class DiskCacheNode final : public Node {
 public:
  DiskCacheNode(NodePtr input, std::string folder, const CacheOptions& options)
      : Node("cache", "on disk", {input}, input->spec(), input->cardinality()),
        folder_(std::move(folder)),
        options_(options) {}
  std::string settings() const override { return printable(folder_); }
  bool hands_on() const override { return true; }
  bool keeps_ids() const override { return true; }
  StagePtr make(Builder& builder) const override;
  Bytes minimum(int /*threads*/) const override { return 3 * kBuffer; }

 private:
  std::string folder_;
  CacheOptions options_;
};

StagePtr DiskCacheNode::make(Builder& builder) const {
  const std::uint64_t seed = mix_ids(builder.engine().seed(), builder.number());
  StagePtr input = builder.input(*this);
  return std::make_unique<DiskCacheStage>(std::move(input), builder.engine(), inputs()[0], folder_,
                                          options_, seed);
}

}  // namespace

Dataset Dataset::cache(const std::string& folder, const CacheOptions& options) const {
  if (cardinality() == kInfinite) {
    throw InvalidArgument("[cache] the dataset never ends; cache before repeat");
  }
  if (folder.empty()) throw InvalidArgument("[cache] the folder has no name");
  if (options.segment == 0) throw InvalidArgument("[cache] segments of 0 bytes");
  require_fingerprint(*node_);
  return Dataset(std::make_shared<DiskCacheNode>(node_, folder, options));
}

}  // namespace plimsoll::data

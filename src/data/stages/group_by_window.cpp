#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/out_of_memory.h>

#include "data/engine/engine.h"
#include "data/engine/inbox.h"
#include "data/engine/node.h"

namespace plimsoll::data {
namespace {

using Key = std::function<std::int64_t(const Element&)>;
using Reduce = std::function<Dataset(std::int64_t key, const std::vector<Element>& window)>;
/// Elements of a window of this key.
using WindowSize = std::function<std::int64_t(std::int64_t key)>;

/// An element that waits, and its number among the units of the input.
struct Waiting {
  Element element;
  std::uint64_t unit = 0;
};
using Window = std::vector<Waiting>;

/// Collects elements by key. A position holds the numbers of those that wait: they are taken from
/// the input again.
class GroupStage final : public Stage {
 public:
  GroupStage(StagePtr input, Engine& engine, std::string title, Key key, Reduce reduce,
             WindowSize size, std::uint64_t number)
      : inbox_(std::move(input)),
        engine_(engine),
        title_(std::move(title)),
        key_(std::move(key)),
        reduce_(std::move(reduce)),
        size_(std::move(size)),
        number_(number) {}

  void start(std::uint64_t epoch) override {
    reset();
    epoch_ = epoch;
    inbox_.start(epoch);
  }
  StatePtr save() const override {
    if (unreplayed_) return unreplayed_;
    const std::uint64_t first = oldest();
    std::vector<std::uint64_t> words{epoch_, windows_made_, inbox_.taken() - first, open_ ? 1U : 0U,
                                     open_units_.size()};
    for (const std::uint64_t unit : open_units_) words.push_back(unit - first);
    for (const auto& [key, window] : waiting_) {
      for (const Waiting& each : window) words.push_back(each.unit - first);
    }
    std::vector<StatePtr> inputs{inbox_.position(first)};
    if (open_) inputs.push_back(open_->save());
    return make_state(std::move(words), std::move(inputs));
  }
  void restore(const State& state) override {
    reset();
    epoch_ = state.words.at(0);
    windows_made_ = state.words.at(1);
    inbox_.restore(*state.inputs.at(0));
    unreplayed_ = std::make_shared<const State>(state);
  }
  std::size_t state_words() const override {
    std::size_t words = 5 + open_units_.size() + inbox_.state_words();
    for (const auto& [key, window] : waiting_) words += window.size();
    return words + (open_ ? open_->state_words() : 0);
  }
  bool runs_ahead() const override { return true; }
  bool has_ahead() const override { return !ahead_.empty(); }
  void pump() override {
    for (Stage* const stage : ahead_) stage->pump();
  }
  Bytes held() const override {
    Bytes total = 0;
    for (const auto& [key, window] : waiting_) {
      for (const Waiting& each : window) total += each.element.nbytes();
    }
    return total;
  }

 protected:
  Pull pull(ElementBlock& out, std::size_t max) override {
    if (unreplayed_) {
      const Pull replayed = replay();
      if (replayed != Pull::ready) return replayed;
    }
    for (;;) {
      if (open_) {
        const std::size_t before = out.size();
        const Pull pulled = open_->next_block(out, max);
        if (pulled != Pull::end) {
          for (std::size_t i = before; i < out.size(); ++i) {
            out[i].id = mix_ids(windows_made_, out[i].id);
          }
          return pulled;
        }
        close();
      }
      inbox_.forget(oldest());
      const Pull filled = inbox_.fill(max);
      if (filled == Pull::pending) return filled;
      if (filled == Pull::end) {
        if (waiting_.empty()) return filled;
        open(waiting_.begin());
        continue;
      }
      add();
    }
  }

 private:
  void reset() {
    waiting_.clear();
    close();
    windows_made_ = 0;
    unreplayed_ = nullptr;
  }
  void close() {
    ahead_.clear();
    open_ = nullptr;
    open_node_ = nullptr;
    open_window_.clear();
    open_units_.clear();
  }
  /// Units before this need not be taken again.
  std::uint64_t oldest() const {
    std::uint64_t first = inbox_.taken();
    for (const std::uint64_t unit : open_units_) first = std::min(first, unit);
    for (const auto& [key, window] : waiting_) first = std::min(first, window.front().unit);
    return first;
  }

  std::int64_t key_of(const Element& element) const {
    try {
      return key_(element);
    } catch (const std::exception& error) {
      throw DataError(
          fmt::format("[{}] element {}: {}", title_, element.to_string(), error.what()));
    }
  }

  /// Puts the next element of the input where it belongs; opens the window that it fills.
  void add() {
    const std::uint64_t unit = inbox_.taken();
    std::int64_t key = 0;
    std::int64_t size = 0;
    try {
      key = key_of(inbox_.front());
      size = size_(key);
    } catch (const DataError&) {
      inbox_.pop();
      throw;
    }
    const auto window = waiting_.try_emplace(key).first;
    window->second.push_back({std::move(inbox_.front()), unit});
    inbox_.pop();
    if (static_cast<std::int64_t>(window->second.size()) >= size) open(window);
  }

  void open(std::map<std::int64_t, Window>::iterator found) {
    const std::int64_t key = found->first;
    for (Waiting& each : found->second) {
      open_window_.push_back(std::move(each.element));
      open_units_.push_back(each.unit);
    }
    waiting_.erase(found);
    ++windows_made_;
    try {
      open_ = make(key);
      open_->start(mix_ids(epoch_, windows_made_));
    } catch (...) {
      close();
      throw;
    }
  }
  StagePtr make(std::int64_t key) {
    try {
      open_node_ = reduce_(key, open_window_).node();
      return Builder(engine_, number_, &ahead_).build(open_node_);
    } catch (const OutOfMemory&) {
      ahead_.clear();
      throw;
    } catch (const std::exception& error) {
      ahead_.clear();
      throw DataError(fmt::format("[{}] a window of {} elements with key {}: {}", title_,
                                  open_window_.size(), key, error.what()));
    }
  }

  /// Takes the elements that waited, and those of the window that was open, from the input again.
  Pull replay() {
    const auto& words = unreplayed_->words;
    const std::uint64_t until = words.at(2);
    const bool was_open = words.at(3) != 0;
    const std::size_t opened = static_cast<std::size_t>(words.at(4));
    const auto begin = words.begin() + 5;
    if (opened > words.size() - 5) throw DataError("[Pipeline::restore] not a saved position");
    const std::vector<std::uint64_t> of_open(begin, begin + static_cast<std::ptrdiff_t>(opened));
    std::vector<std::uint64_t> kept(begin + static_cast<std::ptrdiff_t>(opened), words.end());
    std::sort(kept.begin(), kept.end());
    while (inbox_.taken() < until) {
      try {
        const Pull filled = inbox_.fill(1);
        if (filled == Pull::pending) return filled;
        if (filled == Pull::end) break;
      } catch (const DataError&) {
        continue;  // was seen before
      }
      const std::uint64_t unit = inbox_.taken();
      if (std::find(of_open.begin(), of_open.end(), unit) != of_open.end()) {
        open_window_.push_back(std::move(inbox_.front()));
        open_units_.push_back(unit);
      } else if (std::binary_search(kept.begin(), kept.end(), unit)) {
        const std::int64_t key = key_of(inbox_.front());
        waiting_[key].push_back({std::move(inbox_.front()), unit});
      }
      inbox_.pop();
    }
    if (was_open && !open_window_.empty()) {
      open_ = make(key_of(open_window_.front()));
      open_->restore(*unreplayed_->inputs.at(1));
    }
    unreplayed_ = nullptr;
    return Pull::ready;
  }

  Inbox inbox_;
  Engine& engine_;
  const std::string title_;
  Key key_;
  Reduce reduce_;
  WindowSize size_;
  const std::uint64_t number_;
  std::uint64_t epoch_ = 0;
  std::map<std::int64_t, Window> waiting_;
  NodePtr open_node_;          ///< what open_ runs; may keep what its functions need
  StagePtr open_;              ///< gives what the last full window was made into
  std::vector<Stage*> ahead_;  ///< of those in open_
  std::vector<Element> open_window_;
  std::vector<std::uint64_t> open_units_;
  std::uint64_t windows_made_ = 0;
  StatePtr unreplayed_;
};

class GroupNode final : public Node {
 public:
  GroupNode(std::string kind, std::string parameters, const NodePtr& input, ElementSpec spec,
            Key key, Reduce reduce, WindowSize size)
      : Node(std::move(kind), std::move(parameters), {input}, std::move(spec),
             input->cardinality() == 0 ? 0 : kUnknown),
        key_(std::move(key)),
        reduce_(std::move(reduce)),
        size_(std::move(size)) {}
  StagePtr make(Builder& builder) const override {
    const std::uint64_t number = builder.number();
    return std::make_unique<GroupStage>(builder.input(*this), builder.engine(), kind(), key_,
                                        reduce_, size_, number);
  }
  bool may_fail() const override { return true; }
  // The datasets that the function gives may.
  bool draws() const override { return kind() == "group_by_window"; }

 private:
  Key key_;
  Reduce reduce_;
  WindowSize size_;
};

/// Elements that are there, as a dataset.
Dataset dataset_of(const std::vector<Element>& elements, const ElementSpec& spec) {
  Indexable set;
  set.size = static_cast<std::int64_t>(elements.size());
  set.spec = spec;
  set.name = "window";
  set.get = [elements](std::int64_t i) { return elements[static_cast<std::size_t>(i)]; };
  return Dataset::from_indexable(std::move(set));
}

/// Extents of a component with every one that varies set to `length`.
std::vector<std::int64_t> padded_dims(const TensorSpec& spec, std::int64_t length) {
  std::vector<std::int64_t> dims = *spec.dims;
  for (std::int64_t& extent : dims) extent = extent == kAnyExtent ? length : extent;
  return dims;
}

}  // namespace

Dataset Dataset::group_by_window(
    std::function<std::int64_t(const Element&)> key,
    std::function<Dataset(std::int64_t key, const std::vector<Element>& window)> reduce,
    std::int64_t window, const std::string& name) const {
  if (!key || !reduce) throw InvalidArgument("[group_by_window] needs two functions");
  if (window < 1) {
    throw InvalidArgument(fmt::format("[group_by_window] a window of {} elements", window));
  }
  return Dataset(std::make_shared<GroupNode>(
      "group_by_window", fmt::format("{}, {}", name, window), node_, ElementSpec::unknown(),
      std::move(key), std::move(reduce), [window](std::int64_t) { return window; }));
}

Dataset Dataset::bucket_by_sequence_length(std::function<std::int64_t(const Element&)> length,
                                           const std::vector<std::int64_t>& boundaries,
                                           const std::vector<std::int64_t>& sizes,
                                           const BucketOptions& options,
                                           const std::string& name) const {
  constexpr const char* kWho = "bucket_by_sequence_length";
  if (!length) throw InvalidArgument(fmt::format("[{}] needs a function", kWho));
  if (boundaries.empty() || sizes.size() != boundaries.size() + 1 ||
      !std::is_sorted(boundaries.begin(), boundaries.end(), std::less_equal<>()) ||
      *std::min_element(sizes.begin(), sizes.end()) < 1) {
    throw InvalidArgument(fmt::format(
        "[{}] boundaries {} and batch sizes {}; boundaries must increase, and there is one size of "
        "1 or more for each and one for longer elements",
        kWho, fmt::join(boundaries, " "), fmt::join(sizes, " ")));
  }
  const ElementSpec spec = element_spec();
  if (!spec.known) {
    throw InvalidArgument(fmt::format(
        "[{}] it must be known what the elements are; declare the output of the map before it",
        kWho));
  }
  const auto bucket = [boundaries, length = std::move(length), options](const Element& element) {
    const std::int64_t size = length(element);
    const auto at = std::upper_bound(boundaries.begin(), boundaries.end(), size);
    if (options.pad_to_boundary && at == boundaries.end()) {
      throw DataError(fmt::format("its length of {} is not below the last boundary, {}", size,
                                  boundaries.back()));
    }
    return static_cast<std::int64_t>(at - boundaries.begin());
  };
  const auto reduce = [boundaries, sizes, options, spec](std::int64_t key,
                                                         const std::vector<Element>& window) {
    PaddedBatchOptions padding{.drop_remainder = options.drop_remainder};
    if (options.pad_to_boundary) {
      for (const TensorSpec& each : spec.components) {
        padding.shapes.push_back(padded_dims(each, boundaries[static_cast<std::size_t>(key)] - 1));
      }
    }
    return dataset_of(window, spec).padded_batch(sizes[static_cast<std::size_t>(key)], padding);
  };
  const ElementSpec batched = padded_batch(sizes.front()).element_spec();
  return Dataset(std::make_shared<GroupNode>(
      kWho,
      fmt::format("{}, boundaries={}, sizes={}, drop_remainder={}, pad_to_boundary={}", name,
                  fmt::join(boundaries, " "), fmt::join(sizes, " "), options.drop_remainder,
                  options.pad_to_boundary),
      node_, batched, bucket, reduce,
      [sizes](std::int64_t key) { return sizes[static_cast<std::size_t>(key)]; }));
}

}  // namespace plimsoll::data

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/data/dataset.h>
#include <plimsoll/data/element.h>
#include <plimsoll/data/needs.h>
#include <plimsoll/device/device.h>

namespace plimsoll::data {

struct PipelineOptions {
  /// A limit for this pipeline below the device's; the pipeline's budget is a child of that.
  Bytes limit = kUnlimited;
  std::string name = "pipeline";
  /// Threads for parallel stages; 0 takes default_threads(). One more, the consumer's own, drives
  /// the rest while it waits.
  int threads = 0;
  std::uint64_t seed = 0;
  /// Leave out up to so many elements per stage and epoch that fail in a map or a source, list them
  /// in skipped(), and name them in a warning at the end of the epoch. 0: the first error ends the
  /// stream. -1: any number. A position may be restored with another number.
  std::int64_t skip_errors = 0;
  /// On top of skip_errors, this share of the elements that the stage has seen in the epoch.
  double skip_rate = 0;
  /// After a DataError, save() gives the position before the element that failed, so that what is
  /// restored from it reads that element again: once it is mended, or with more memory, or with
  /// skip_errors. Costs a save() of the stages for each next(). Without it the position is past it.
  bool save_before_errors = false;
};

/// What one stage has done and holds.
struct StageStats {
  std::string stage;  ///< "map(load_images)"
  int depth = 0;      ///< 0 for the last stage, 1 for its inputs, ...
  std::uint64_t elements = 0;
  Bytes bytes = 0;           ///< contents of those elements, by the first of each block
  double busy_s = 0;         ///< work of its own, all threads together
  double wait_input_s = 0;   ///< had nothing to work on
  double wait_room_s = 0;    ///< had no place for results, or no memory to make them
  double wait_memory_s = 0;  ///< the part of wait_room_s that is want of memory
  Bytes held = 0;            ///< contents of elements that it has now and has not handed on
  std::string setting;       ///< what was chosen where that was left open: "2 threads", "4 ahead"
};

/// The stage to blame when the consumer waits, and what would help.
struct Bottleneck {
  std::string stage;
  std::string remedy;
  double share = 0;  ///< of all work done
};

/// An element that was left out.
struct SkippedElement {
  std::string stage;
  std::string message;      ///< begins with the file, where it is one
  std::uint64_t epoch = 0;  ///< 0 for the first
};

/// A running Dataset: gives its elements one after the other.
///
/// Everything it takes comes from the device's arena and is charged to a budget of its own, tags
/// input, decode, shuffle, cache, prefetch. What was delivered is charged there as Tag::user until
/// its last tensor goes. The stream is the same for any number of threads and any budget.
///
/// next(), rewind(), pause(), save() and restore() are for one thread at a time; cancel(), stats(),
/// bottleneck() and skipped() may be called from any. Destroying it in mid-epoch waits for the
/// functions that are running, not for the rest of the epoch.
class Pipeline {
 public:
  /// Throws BudgetTooSmall, with the number, where the element specs already need more than the
  /// budget has; InvalidArgument if `device` is not a host device.
  Pipeline(const Dataset& dataset, const Device& device, const PipelineOptions& options = {});
  /// What was moved from can be assigned to or destroyed; all else throws InvalidArgument.
  Pipeline(Pipeline&&) noexcept;
  Pipeline& operator=(Pipeline&&) noexcept;
  ~Pipeline();

  /// The next element; nullopt at the end and after cancel().
  ///
  /// Throws DataError naming the element (file) that failed and the stage, also for one that needs
  /// more than the budget even alone; the stream goes on after it. Throws OutOfMemory, naming the
  /// holders, where what the consumer still holds leaves too little, and BudgetTooSmall where a
  /// shuffle's window has no room on disk either; nothing is lost, and after memory is freed the
  /// same call succeeds.
  std::optional<NamedElement> next();

  /// The elements that are left, one by one: `for (const auto& batch : pipeline)`, and then
  /// `batch["image"]`. After the end, a loop begins the next epoch, as rewind() does.
  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = NamedElement;
    explicit Iterator(Pipeline& pipeline) : pipeline_(&pipeline), element_(pipeline.next()) {}
    const NamedElement& operator*() const { return *element_; }
    const NamedElement* operator->() const { return &*element_; }
    Iterator& operator++() {
      element_.reset();  // its memory may be what the next one needs
      element_ = pipeline_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& at, std::default_sentinel_t) {
      return !at.element_.has_value();
    }

   private:
    Pipeline* pipeline_;
    std::optional<NamedElement> element_;
  };
  Iterator begin();
  std::default_sentinel_t end() const { return std::default_sentinel; }

  /// The same with the components as tensors:
  /// `for (auto [image, label] : pipeline.tuples<2>())`. Scalars become tensors without dimensions.
  /// InvalidArgument for elements that do not have `Count` components.
  template <std::size_t Count>
  class Tuples {
   public:
    class Iterator {
     public:
      using difference_type = std::ptrdiff_t;
      using value_type = std::array<Tensor, Count>;
      Iterator(Pipeline& pipeline, Pipeline::Iterator at)
          : pipeline_(&pipeline), at_(std::move(at)) {}
      value_type operator*() const {
        value_type tensors;
        pipeline_->write_tensors(*at_, tensors.data(), Count);
        return tensors;
      }
      Iterator& operator++() {
        ++at_;
        return *this;
      }
      void operator++(int) { ++at_; }
      friend bool operator==(const Iterator& at, std::default_sentinel_t end) {
        return at.at_ == end;
      }

     private:
      Pipeline* pipeline_;
      Pipeline::Iterator at_;
    };
    explicit Tuples(Pipeline& pipeline) : pipeline_(&pipeline) {}
    Iterator begin() { return {*pipeline_, pipeline_->begin()}; }
    std::default_sentinel_t end() const { return std::default_sentinel; }

   private:
    Pipeline* pipeline_;
  };
  template <std::size_t Count>
  Tuples<Count> tuples() {
    return Tuples<Count>(*this);
  }

  /// Begins the stream again; as a later epoch, so that shuffles differ.
  void rewind();

  /// Keeps the position and lets the buffers go: what was made ahead is made again by the next
  /// next(). Waits for the functions that are running. What the consumer holds and what a cache
  /// keeps stay.
  void pause();

  /// Ends the stream: a next() that waits in another thread returns nullopt.
  void cancel();

  /// The position: what the consumer has received. Small; prefetched work is not in it but is done
  /// again. InvalidArgument for a pipeline that cannot be saved, naming the stage.
  std::string save();
  /// Goes to a saved position of the same pipeline with the same seed; threads, budget and
  /// skip_errors may differ. InvalidArgument naming the difference for another one, and naming
  /// files where the data has others than when it was saved, or of other sizes; DataError for bytes
  /// that are no saved position. The pipeline is then as before. Files that have only been written
  /// to since are named in a warning.
  void restore(const std::string& position);

  const ElementSpec& element_spec() const;
  std::vector<StageStats> stats() const;
  /// nullopt before anything was done.
  std::optional<Bottleneck> bottleneck() const;
  /// The elements left out so far, in stream order within a stage; the first 10,000 of them.
  std::vector<SkippedElement> skipped() const;
  /// How many were left out so far.
  std::int64_t skipped_count() const;
  /// What decode_needs() knows by now. Where it is not complete when the first element is asked
  /// for, a thread of the pipeline reads on in the background.
  DecodeNeeds needs() const;
  /// Its limit may be moved while the pipeline runs: more is used at once, and a lower limit is
  /// kept by giving up what was made ahead.
  Budget budget() const;

 private:
  struct State;
  State& state(const char* function) const;
  void write_tensors(const Element& element, Tensor* tensors, std::size_t count) const;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::data

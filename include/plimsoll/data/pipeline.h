#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/owned.h>
#include <plimsoll/data/dataset.h>
#include <plimsoll/data/element.h>
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
  /// Leave out up to so many elements per stage and epoch that fail in a map or a source, and list
  /// them in skipped(). 0: the first error ends the stream. -1: any number.
  std::int64_t skip_errors = 0;
  /// On top of skip_errors, this share of the elements that the stage has seen in the epoch.
  double skip_rate = 0;
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
  std::string message;
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
  Pipeline(Pipeline&&) noexcept;
  Pipeline& operator=(Pipeline&&) noexcept;
  ~Pipeline();

  /// The next element; nullopt at the end and after cancel().
  ///
  /// Throws DataError naming the stage and the element (file) that failed, also for one that needs
  /// more than the budget even alone; the stream goes on after it. Throws OutOfMemory, naming the
  /// holders, where what the consumer still holds leaves too little; nothing is lost, and after
  /// memory is freed the same call succeeds.
  std::optional<Element> next();

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
  /// Goes to a saved position of the same pipeline with the same seed; threads and budget may
  /// differ. InvalidArgument naming the difference for another one, DataError for bytes that are
  /// no saved position; the pipeline is then as before.
  void restore(const std::string& position);

  const ElementSpec& element_spec() const;
  std::vector<StageStats> stats() const;
  /// nullopt before anything was done.
  std::optional<Bottleneck> bottleneck() const;
  /// The elements left out so far, in stream order within a stage.
  std::vector<SkippedElement> skipped() const;
  Budget budget() const;

 private:
  struct State;
  Owned<State> state_{"Pipeline"};
};

}  // namespace plimsoll::data

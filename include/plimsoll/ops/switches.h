#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

namespace plimsoll::ops {

/// Records which switches a trace reads on this thread while it lives: whether a module is
/// training, whether a variable is trained. What was traced is right only as long as they stay
/// where they were. Recorders nest; the innermost tells the one around it. Not thread-safe: it
/// belongs to its thread.
class SwitchReads {
 public:
  struct Read {
    std::shared_ptr<const bool> flag;  ///< keeps alive whatever has it
    bool value = false;

    bool holds() const { return *flag == value; }
  };

  SwitchReads();
  SwitchReads(const SwitchReads&) = delete;
  SwitchReads& operator=(const SwitchReads&) = delete;
  ~SwitchReads();

  /// The recorder in force on this thread; null if there is none.
  static SwitchReads* current();

  /// For whoever reads a switch.
  void note(const std::shared_ptr<const bool>& flag);
  /// Each switch that was read, with its value, except those that were moved since: whoever traces
  /// code that sets a switch itself finds it set in the next call as well.
  std::vector<Read> settled() const;

 private:
  std::unordered_map<const bool*, Read> reads_;
  SwitchReads* around_;
};

}  // namespace plimsoll::ops

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include <plimsoll/memory/ledger.h>

namespace plimsoll::train {

struct LeakGateOptions {
  enum class Action : std::uint8_t { stop, warn, off };
  Action action = Action::stop;
  /// A holder that grew at so many marks of epochs, or of steps, in a row leaks.
  int epochs = 3;
  int steps = 24;
};

/// Looks at who holds what at the end of steps and epochs, and finds holders that only ever grow.
///
/// What an input pipeline holds is bounded by its own budget and fills up by design; those tags
/// (input, decode, shuffle, cache, prefetch, staging) are left out. Not thread-safe.
class LeakGate {
 public:
  LeakGate(Ledger ledger, const LeakGateOptions& options);

  /// Where the first marks are compared with.
  void begin();
  /// Throws Error naming tag, label and bytes of a holder that leaks, or warns, once for each.
  void step(std::int64_t index);
  void epoch(std::int64_t index);

 private:
  struct Line {
    Bytes bytes = 0;
    Bytes first = 0;  ///< before it began to grow
    int grown = 0;
    bool named = false;
  };
  using Key = std::tuple<std::string, Tag, std::string>;
  using Lines = std::map<Key, Line>;
  void mark(Lines& lines, int most, const char* what, std::int64_t index);

  Ledger ledger_;
  LeakGateOptions options_;
  Lines by_step_;
  Lines by_epoch_;
};

}  // namespace plimsoll::train

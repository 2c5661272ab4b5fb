#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/ledger.h>

namespace plimsoll::train {

struct LeakGateOptions {
  enum class Action : std::uint8_t { stop, warn, off };
  Action action = Action::stop;
  /// A holder that grew at so many marks of epochs, or of steps, in a row leaks.
  int epochs = 3;
  int steps = 24;
};

/// A holder that grew at mark after mark.
struct LeakReport {
  std::string budget;  ///< path
  Tag tag = Tag::user;
  std::string label;
  std::string what;            ///< "step" or "epoch": at whose ends it was looked at
  std::int64_t index = 0;      ///< the last of them
  Bytes first = 0;             ///< before it began to grow
  Bytes bytes = 0;             ///< now
  std::vector<Bytes> history;  ///< `first`, and what it held at the end of each since

  /// What people see: "memory leaks: 4 KiB of user 'kept predictions' in cpu:0 ...".
  std::string to_string() const;
  std::string to_json() const;
};

/// Memory grows and is never given back.
class MemoryLeak : public Error {
 public:
  explicit MemoryLeak(LeakReport report) : Error(report.to_string()), report_(std::move(report)) {}
  const LeakReport& report() const { return report_; }

 private:
  LeakReport report_;
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
  /// Throws MemoryLeak naming tag, label and bytes of a holder that leaks, or warns, once for each.
  void step(std::int64_t index);
  void epoch(std::int64_t index);

 private:
  struct Line {
    Bytes bytes = 0;
    std::vector<Bytes> history = {};  ///< while it grows: before, and at each mark since
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

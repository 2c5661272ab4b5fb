#pragma once

namespace plimsoll {

/// While it lives, parallel_for and parallel_tasks of the calling thread do all their work in it:
/// for callers that are one of many threads already, such as those of an input pipeline. Results
/// are the same. Scopes nest.
class SerialScope {
 public:
  SerialScope();
  SerialScope(const SerialScope&) = delete;
  SerialScope& operator=(const SerialScope&) = delete;
  ~SerialScope();

 private:
  bool before_;
};

}  // namespace plimsoll

#pragma once

#include <functional>

#include <plimsoll/ops/variable.h>

namespace plimsoll::ops {

/// What a dispatcher implements besides that has to do with variables: eager execution, tapes and
/// traces. Apart from Dispatcher, so that kernels need not know of variables.
class VariableReader {
 public:
  virtual ~VariableReader() = default;
  /// `variable` is about to be read: a tape follows it, a trace binds it, and where ops are carried
  /// out at once it gets its data now if it has none, on the DefaultDevice.
  virtual void read(const Variable& variable) = 0;
  /// True within a trace: ops are recorded and not carried out.
  virtual bool records() const { return false; }
  /// `hook` must be called before each run of what is being traced, with the stream it runs on: the
  /// host's part of a step, such as a learning rate that is written. Dropped where nothing is
  /// traced.
  virtual void before_run(std::function<void(StreamId stream)> /*hook*/) {}  // NOLINT

  /// The dispatcher in force in this thread, if it is one; else null.
  static VariableReader* current();
};

}  // namespace plimsoll::ops

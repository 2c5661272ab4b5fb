#pragma once

#include <memory>

namespace plimsoll::data {

/// Pipelines that functions of the library run to their end, such as evaluate() and
/// write_records(), can be ended by a scope around the call:
///
///   data::CancelScope scope;
///   on_interrupt([&] { scope.cancel(); });   // from any thread
///   trainer.evaluate(validation);
///
/// Pipelines made by the scope's thread while it lives belong to it. After cancel() the next() of
/// each throws Error, also one that waits, so that what was half done is given up: files that
/// write_records() has not finished are removed. Scopes may be nested; the innermost counts.
class CancelScope {
 public:
  CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;
  ~CancelScope();

  /// From any thread, while the scope lives.
  void cancel();

  struct State;

 private:
  std::shared_ptr<State> state_;
  std::shared_ptr<State> outer_;
};

}  // namespace plimsoll::data

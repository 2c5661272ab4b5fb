#pragma once

namespace plimsoll::ops {

/// Marks that this thread takes gradients: what is traced meanwhile is part of the backward pass.
class BackwardScope {
 public:
  BackwardScope();
  BackwardScope(const BackwardScope&) = delete;
  BackwardScope& operator=(const BackwardScope&) = delete;
  ~BackwardScope();
  static bool current();

 private:
  bool before_;
};

}  // namespace plimsoll::ops

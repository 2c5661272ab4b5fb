#pragma once

#include <plimsoll/ops/attributes.h>

namespace plimsoll::ops {

/// Within a scope, in this thread, ops whose OpDef::precision is `compute` (products, convolutions
/// and attention) get the attribute "tf32" when they run in f32: a GPU's matrix units then round
/// their factors to TF32's 10 bits of mantissa and sum in f32. Ops that a gradient is made of take
/// it from the op they belong to. A CPU computes in f32 as ever. Scopes nest.
class Tf32Scope {
 public:
  explicit Tf32Scope(bool on = true);
  Tf32Scope(const Tf32Scope&) = delete;
  Tf32Scope& operator=(const Tf32Scope&) = delete;
  ~Tf32Scope();
  static bool current();

 private:
  bool before_;
};

/// Whether an op's attributes allow TF32.
inline bool uses_tf32(const Attributes& attributes) {
  return attributes.has("tf32") && attributes.flag("tf32");
}

}  // namespace plimsoll::ops

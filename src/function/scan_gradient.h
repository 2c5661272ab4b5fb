#pragma once

#include <plimsoll/ops/op_def.h>

namespace plimsoll::scanning {

/// The gradient of the op scan: a scan from the other end, in each step of which the step's own
/// values are computed again, but for those that it gave. Where the gradient by something shared is
/// a product of matrices in each step, both factors of all steps are kept instead and multiplied
/// once.
void scan_gradient(ops::GradientContext& g);

}  // namespace plimsoll::scanning

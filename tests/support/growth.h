#pragma once

namespace plimsoll::testing {

/// Trains a small model eagerly, in f16 with loss scaling, dropout and running statistics, and
/// expects that after every hundredth of `steps` each tag's live bytes are what they were after ten
/// steps.
void expect_no_growth(int steps);

}  // namespace plimsoll::testing

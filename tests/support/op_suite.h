#pragma once

#include <plimsoll/ops/op_def.h>

namespace plimsoll::test {

/// Fails the test unless the op gives what its cases say (op_cases.h): in each dtype that it
/// claims, with gaps between elements, traced, in place, over poisoned memory, and differentiated.
/// For ops that draw no random numbers.
void check_op(const ops::OpDef& def);

}  // namespace plimsoll::test

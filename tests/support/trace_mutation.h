#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <plimsoll/memory/trace.h>

#include "support/training_model.h"

namespace plimsoll::testing {

/// `text` with one to four random changes: bytes overwritten, removed or inserted, lines doubled,
/// swapped or cut, fields put where others were, the end cut off.
std::string mutate(std::string_view text, Random& random);

/// Empty if every promise of a Trace holds; else the first that does not.
std::string check_trace(const Trace& trace);

/// Small valid files of both formats to start from.
std::string_view rmm_example();
std::string_view buffer_list_example();

}  // namespace plimsoll::testing

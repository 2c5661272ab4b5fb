#pragma once

#include <cstdint>

namespace plimsoll::ops {

/// The seed of everything that is drawn where no other is given: random ops outside of a
/// RandomScope, and the first values of a module's parameters. Process-wide, 0 at first.
/// Thread-safe.
void set_seed(std::uint64_t seed);
std::uint64_t default_seed();

}  // namespace plimsoll::ops

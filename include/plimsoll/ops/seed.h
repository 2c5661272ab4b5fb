#pragma once

#include <cstdint>

namespace plimsoll::ops {

/// The seed of everything that is drawn where no other is given: random ops outside of a
/// RandomScope, and the first values of a module's parameters. Process-wide, 0 at first.
/// What the calling thread draws from now on begins anew, so that the same seed gives the same
/// numbers. Thread-safe.
void set_seed(std::uint64_t seed);
std::uint64_t default_seed();

}  // namespace plimsoll::ops

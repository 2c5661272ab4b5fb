#pragma once

#include <cstdint>

#include "plan/step_model.h"
#include "support/pebble_game.h"

namespace plimsoll::test {

/// A small training step drawn from a seed: a chain, residual connections or branches of up to nine
/// nodes, their gradients, sizes of a few units of 256 bytes, costs that differ by a factor of up
/// to fifty, some nodes with workspace and some that may work in place. Fewer than twenty nodes.
plan::StepModel random_step(std::uint64_t seed);

/// The same step as a game.
PebbleGame game_of(const plan::StepModel& model);

}  // namespace plimsoll::test

#pragma once

#include <vector>

#include "support/random_layers.h"

// Parts of random_families(), all of which tests/nn/record/record_random_functions.py records.

namespace plimsoll::test {

/// Activations, arithmetic, gated units, attention, and modules made of them.
std::vector<RandomFamily> random_functions();
/// Reductions, shapes and indices.
std::vector<RandomFamily> random_tensors();
/// Losses.
std::vector<RandomFamily> random_losses();
/// Convolutions of single channels, and layers that are made of others; matrices by LAPACK.
std::vector<RandomFamily> random_modules();

}  // namespace plimsoll::test

#pragma once

#include <plimsoll/data/dataset.h>

#include "data/engine/stage.h"

namespace plimsoll::data {

class Engine;

/// The elements of a generator that may wait for something outside: it is called on a thread of its
/// own, a few elements ahead. Ending a pass in the middle waits for the call in progress.
StagePtr make_blocking_generator(Generator generator, Engine& engine);

}  // namespace plimsoll::data

#pragma once

#include <functional>
#include <memory>

#include "data/engine/engine.h"
#include "data/engine/stage.h"

namespace plimsoll::data {

/// A stage that runs its input in a section of its own, on another thread where there is one, up to
/// `count` elements ahead (kAutotune: what the consumer's waits suggest). `make` builds the input
/// for that section. `consumer` is the engine of the stage that pulls. `eager`: begins with a pass,
/// not with the first pull of it.
StagePtr make_prefetch(Engine& consumer, const std::function<StagePtr(Engine& section)>& make,
                       int count, bool eager);

}  // namespace plimsoll::data

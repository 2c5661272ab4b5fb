#pragma once

#include <cstdint>

#include <plimsoll/data/map_blocking.h>
#include <plimsoll/data/map_function.h>

#include "data/engine/stage.h"

namespace plimsoll::data {

class Engine;

/// Applies `function` in the pipeline's threads, up to options.parallel at a time (kAutotune: as
/// many as shorten the consumer's wait, ThreadTuner), results in the order of the input or as they
/// are done.
StagePtr make_parallel_map(StagePtr input, Engine& engine, const MapFunction& function,
                           const MapOptions& options, std::uint64_t number);
/// The same in threads of their own.
StagePtr make_blocking_map(StagePtr input, Engine& engine, const MapFunction& function,
                           const MapOptions& options, std::uint64_t number, CallsWithin within);

}  // namespace plimsoll::data

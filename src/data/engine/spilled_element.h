#pragma once

#include <cstdint>

#include <plimsoll/data/element.h>

#include "data/engine/spill_file.h"

namespace plimsoll::data {

class Engine;

/// Where an element lies in a SpillFile. `length` 0: nowhere.
struct SpilledElement {
  std::uint64_t offset = 0;
  Bytes length = 0;    ///< of the place
  Bytes contents = 0;  ///< Element::nbytes()
};

/// Writes `element`, whose tensors are the host's. Throws what SpillFile does, and OutOfMemory;
/// nothing is then written.
SpilledElement spill(SpillFile& file, const Element& element);

/// The element again, bit by bit, in memory of `options`. Its place stays taken. Throws
/// OutOfMemory.
Element unspill(const SpillFile& file, const SpilledElement& spilled, const Engine& engine,
                const TensorOptions& options);

}  // namespace plimsoll::data

#pragma once

#include <cstdint>

#include <plimsoll/base/error.h>

#include "data/engine/stage.h"

namespace plimsoll::data {

class Engine;

/// More elements failed than were to be left out; no other stage leaves it out.
class TooManyErrors final : public DataError {
 public:
  using DataError::DataError;
};

/// Leaves out what fails in `input` with a DataError, up to `most` in a pass (-1: any number) and
/// `rate` of what was seen in it. With neither it leaves out nothing; it is there so that a
/// position can be restored with other numbers.
StagePtr make_ignore_errors(StagePtr input, std::int64_t most, double rate, Engine& engine);

}  // namespace plimsoll::data

#pragma once

#include <cstdint>

#include <plimsoll/data/dataset.h>

namespace plimsoll::data {

/// How many elements the batches of a dataset have.
struct BatchSizes {
  std::int64_t full = 0;       ///< 0: it is not known
  std::int64_t remainder = 0;  ///< of the last one; 0: there is none, or it is not known
};

/// As far as the description tells, without running: of the last batch() or padded_batch() before
/// stages that leave batches as they are, or of the first dimension of the spec.
BatchSizes batch_sizes(const Dataset& dataset);

}  // namespace plimsoll::data

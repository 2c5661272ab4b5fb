#pragma once

#include <plimsoll/data/dataset.h>

namespace plimsoll::data {

/// The first of each `n` elements, in their order; `n` is at least 1. Throws InvalidArgument.
Dataset every(const Dataset& input, std::int64_t n);

}  // namespace plimsoll::data

#pragma once

#include <plimsoll/data/dataset.h>

namespace plimsoll::data {

/// The same elements with a spec that someone knows: after flat_map or interleave, whose functions
/// do not say what they give. An element that is not of that spec is a DataError. InvalidArgument
/// where what is known of `input` contradicts it.
Dataset declare(const Dataset& input, const ElementSpec& spec);

}  // namespace plimsoll::data

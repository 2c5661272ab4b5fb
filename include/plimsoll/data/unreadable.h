#pragma once

#include <string>

#include <plimsoll/data/dataset.h>

namespace plimsoll::data {

/// The first file among those that decode_needs() has looked at whose header cannot be read: what
/// is wrong with it, its path first. Empty if there is none. Reads no further headers. Thread-safe.
std::string first_unreadable(const Dataset& dataset);

}  // namespace plimsoll::data

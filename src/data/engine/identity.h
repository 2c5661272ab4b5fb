#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/engine/node.h"

namespace plimsoll::data {

/// What the files of a description are, as words for a saved position: how many there are, and
/// digests of their names, sizes and times, for groups of them, so that those that have changed can
/// be named. All names count; of more than 65,536 files, sizes and times of that many.
std::vector<std::uint64_t> identity_of(const Node& node);

/// Compares a saved identity with that of `node` now. Throws InvalidArgument naming files where
/// names or sizes have changed; returns a warning that names files where only their times have, and
/// an empty text if nothing has. DataError for words that are none.
std::string compare_identity(const Node& node, const std::vector<std::uint64_t>& saved);

}  // namespace plimsoll::data

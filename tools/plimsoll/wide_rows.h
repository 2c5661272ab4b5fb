#pragma once

#include <optional>

#include <plimsoll/data/map_function.h>

namespace plimsoll::tools {

/// For records of hundreds of f32 numbers or more: makes (row, label) of each in one go, where a
/// program would have an instruction and a tensor for every number. Without a label that is 0.
/// nullopt for fewer, and for records of anything else.
std::optional<data::MapFunction> gather_row(const data::ElementSpec& record,
                                            std::optional<std::size_t> label);

}  // namespace plimsoll::tools

#pragma once

#include <functional>
#include <optional>

#include <plimsoll/data/dataset.h>

namespace plimsoll::data {

/// `input` mapped by `program`, whose elements nobody has looked at yet: what chooses among them
/// goes before it (choose_below), and further programs become part of it.
Dataset map_lazily(const Dataset& input, const Program& program);

/// Where `dataset` is such a map: the same map of what `choose` makes of its input. Ids and draws
/// are the same either way, as a map keeps them. nullopt where it is none.
std::optional<Dataset> choose_below(const Dataset& dataset,
                                    const std::function<Dataset(const Dataset&)>& choose);

}  // namespace plimsoll::data

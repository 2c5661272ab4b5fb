#include <plimsoll/data/batch_sizes.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "data/engine/node.h"
#include "data/stages/batch_rows.h"

namespace plimsoll::data {
namespace {

/// Stages whose elements are their input's, as far as the number of rows goes.
bool leaves_batches(const Node& node) {
  constexpr std::array<std::string_view, 9> kKinds = {"prefetch", "prefetch_to", "cache",
                                                      "take",     "skip",        "shard",
                                                      "shuffle",  "repeat",      "ignore_errors"};
  return std::ranges::find(kKinds, node.kind()) != kKinds.end();
}

}  // namespace

BatchSizes batch_sizes(const Dataset& dataset) {
  const ElementSpec& spec = dataset.element_spec();
  if (spec.known && !spec.components.empty()) {
    const auto& dims = spec.components.front().dims;
    if (dims && !dims->empty() && dims->front() > 0) return {.full = dims->front()};
  }
  const Node* node = dataset.node().get();
  while (node->inputs().size() == 1) {
    if (const auto* batches = dynamic_cast<const BatchRows*>(node)) {
      BatchSizes sizes{.full = batches->rows()};
      const std::int64_t all = node->inputs().front()->cardinality();
      if (!batches->drops_remainder() && all > 0) sizes.remainder = all % sizes.full;
      return sizes;
    }
    // A map may do anything; the spec of what it gives says that it kept the rows.
    const bool maps = node->kind() == "map" && spec.known;
    if (!maps && !leaves_batches(*node)) break;
    node = node->inputs().front().get();
  }
  return {};
}

}  // namespace plimsoll::data

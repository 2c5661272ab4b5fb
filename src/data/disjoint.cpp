#include "data/disjoint.h"

#include <string>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/data/dataset.h>

#include "data/engine/node.h"

namespace plimsoll::data {
namespace {

std::string text_of(const Node& node) {
  std::string text;
  node.write_signature(text, 0);
  return text;
}

/// The first shuffle under `node` whose order two pipelines, or two epochs, do not share.
const Node* moving_order(const Node& node) {
  if (node.order_moves()) return &node;
  for (const NodePtr& input : node.inputs()) {
    if (const Node* const found = moving_order(*input)) return found;
  }
  return nullptr;
}

bool is_part(const Node& node) {
  return node.kind() == "take" || node.kind() == "skip" || node.kind() == "shard";
}

struct Part {
  const Node* part;
  const Node* shuffle;
};

void find_parts(const Node& node, std::vector<Part>& found) {
  if (is_part(node)) {
    if (const Node* const shuffle = moving_order(node)) found.push_back({&node, shuffle});
  }
  for (const NodePtr& input : node.inputs()) find_parts(*input, found);
}

void find_splits(const Node& node, std::vector<const Node*>& found) {
  if (node.kind() == "split") found.push_back(&node);
  for (const NodePtr& input : node.inputs()) find_splits(*input, found);
}

/// Of a split all but which part it is.
std::string drawn(const Node& split) {
  const std::string title = split.title();
  return title.substr(0, title.rfind(", part "));
}

}  // namespace

std::string warn_of_parts(const Node& node) {
  std::vector<Part> parts;
  find_parts(node, parts);
  for (const Part& each : parts) {
    if (each.part->kind() == "take") continue;  // alone it only shortens an epoch
    return fmt::format(
        "{} of a set that {} shuffles again in each epoch: the elements it leaves out differ from "
        "epoch "
        "to epoch and from pipeline to pipeline; use split() before the shuffle for parts that "
        "stay "
        "apart",
        each.part->title(), each.shuffle->title());
  }
  return {};
}

void require_disjoint(const Dataset& train, const Dataset& validation) {
  std::vector<Part> ours;
  std::vector<Part> theirs;
  find_parts(*train.node(), ours);
  find_parts(*validation.node(), theirs);
  for (const Part& a : ours) {
    for (const Part& b : theirs) {
      if (a.shuffle != b.shuffle && text_of(*a.shuffle) != text_of(*b.shuffle)) continue;
      throw InvalidArgument(
          fmt::format("[require_disjoint] training has {} and validation {} of one set that {} "
                      "shuffles again in "
                      "each epoch, so training sees what validation tests on; split it before: "
                      "set.split(0.8) gives two parts that share no element",
                      a.part->title(), b.part->title(), a.shuffle->title()));
    }
  }
  std::vector<const Node*> first;
  std::vector<const Node*> second;
  find_splits(*train.node(), first);
  find_splits(*validation.node(), second);
  for (const Node* const a : first) {
    for (const Node* const b : second) {
      if (text_of(*a->inputs()[0]) != text_of(*b->inputs()[0])) continue;
      if (drawn(*a) == drawn(*b)) continue;
      throw InvalidArgument(
          fmt::format("[require_disjoint] training has {} and validation {} of the same set, which "
                      "overlap; use "
                      "the two parts of one split()",
                      a->title(), b->title()));
    }
  }
}

}  // namespace plimsoll::data

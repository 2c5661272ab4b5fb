#include "function/scan_edit.h"

#include <algorithm>
#include <set>

namespace plimsoll::scanning {

using ops::ScanBody;

void read_instead(ScanBody& body, int value, int instead) {
  for (ScanBody::Node& node : body.nodes) std::ranges::replace(node.inputs, value, instead);
}

void drop_unused(ScanBody& body) {
  std::set<int> needed(body.results.begin(), body.results.end());
  std::vector<ScanBody::Node> kept;
  for (auto node = body.nodes.rbegin(); node != body.nodes.rend(); ++node) {
    if (std::ranges::none_of(node->outputs, [&](int v) { return needed.contains(v); })) continue;
    needed.insert(node->inputs.begin(), node->inputs.end());
    kept.push_back(*node);
  }
  body.nodes.assign(kept.rbegin(), kept.rend());
}

BodyInputs drop_unused_inputs(ScanBody& body) {
  std::set<int> read;
  for (const ScanBody::Node& node : body.nodes) read.insert(node.inputs.begin(), node.inputs.end());
  std::vector<int> numbers(body.types.size());  // new ones
  std::vector<TensorType> types;
  const auto keep = [&](int value) {
    numbers[static_cast<std::size_t>(value)] = static_cast<int>(types.size());
    types.push_back(body.type(value));
  };
  for (int i = 0; i < body.states; ++i) keep(i);
  int next = body.states;
  const auto keep_read = [&](int& count) {
    std::vector<int> left;
    for (int i = 0; i < count; ++i, ++next) {
      if (!read.contains(next)) continue;
      keep(next);
      left.push_back(i);
    }
    count = static_cast<int>(left.size());
    return left;
  };
  BodyInputs inputs;
  inputs.delayed = keep_read(body.delayed);
  inputs.xs = keep_read(body.xs);
  inputs.shared = keep_read(body.shared);
  for (; next < static_cast<int>(numbers.size()); ++next) keep(next);
  body.types = std::move(types);
  const auto renumber = [&](std::vector<int>& values) {
    for (int& value : values) value = numbers[static_cast<std::size_t>(value)];
  };
  for (ScanBody::Node& node : body.nodes) {
    renumber(node.inputs);
    renumber(node.outputs);
  }
  renumber(body.results);
  return inputs;
}

}  // namespace plimsoll::scanning

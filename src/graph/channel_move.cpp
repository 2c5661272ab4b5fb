#include "graph/channel_move.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <plimsoll/ops/convolution_route.h>
#include <plimsoll/ops/tf32.h>

namespace plimsoll::graph {
namespace {

using ops::Attributes;

/// Whether the layout that an attribute speaks of is the one that the move starts from.
bool starts_from(ChannelMove move, bool channels_last) {
  return channels_last == (move == ChannelMove::to_first);
}

Attributes with(const Node& node, std::string_view name, ops::Attribute value) {
  Attributes attributes = node.attributes;
  attributes.set(name, std::move(value));
  return attributes;
}

void move_shape(Attributes& attributes, ChannelMove move) {
  if (!attributes.has("shape")) return;
  attributes.set("shape", ops::to_integers(moved_shape(move, attributes.shape("shape"))));
}

/// Form::moved for those whose bit is set in `mask`.
std::vector<Form> forms(std::size_t count, std::uint32_t mask) {
  std::vector<Form> all(count, Form::natural);
  for (std::size_t i = 0; i < count; ++i) {
    if (i < 32 && (mask >> i & 1U) != 0) all[i] = Form::moved;
  }
  return all;
}

std::optional<MovedCall> picture_call(const Node& node, ChannelMove move, std::string_view layout) {
  const ops::Channels& channels = node.op->channels;
  const bool last = node.attributes.flag(layout);
  if (!starts_from(move, last)) return std::nullopt;
  MovedCall call{.attributes = with(node, layout, !last),
                 .inputs = forms(node.inputs.size(), channels.inputs),
                 .outputs = forms(node.outputs.size(), channels.outputs)};
  if (channels.shape) move_shape(call.attributes, move);
  return call;
}

/// Inputs that broadcast to `rank` dimensions. A single element needs no dimensions.
std::vector<Form> broadcast_forms(const Graph& graph, const Node& node, int rank) {
  std::vector<Form> all;
  for (const ValueId v : node.inputs) {
    const Shape& shape = graph.value(v).type.shape;
    if (shape.rank() == rank) {
      all.push_back(Form::moved);
    } else {
      all.push_back(shape.elements() == 1 && shape.rank() <= 1 ? Form::natural : Form::lifted);
    }
  }
  return all;
}

std::optional<MovedCall> reduction_call(const Graph& graph, const Node& node, ChannelMove move) {
  const int rank = graph.value(node.inputs[0]).type.shape.rank();
  const Axes& axes = node.attributes.integers("axes");
  Axes moved;
  for (const std::int64_t axis : axes) moved.push_back(moved_axis(move, axis, rank));
  std::ranges::sort(moved);
  const bool keep = node.attributes.flag("keep_dims");
  if (!keep) {
    // What is left must come in the same order.
    std::int64_t last = -1;
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      if (std::ranges::find(axes, axis) != axes.end()) continue;
      const std::int64_t at = moved_axis(move, axis, rank);
      if (at < last) return std::nullopt;
      last = at;
    }
  }
  return MovedCall{.attributes = with(node, "axes", moved),
                   .inputs = {Form::moved},
                   .outputs = {keep ? Form::moved : Form::natural}};
}

Axes moved_entries(ChannelMove move, const Axes& entries) {
  Axes moved;
  for (const std::int64_t from : move_order(move, static_cast<int>(entries.size()))) {
    moved.push_back(entries[static_cast<std::size_t>(from)]);
  }
  return moved;
}

std::optional<MovedCall> pointwise_call(const Graph& graph, const Node& node, ChannelMove move,
                                        int rank) {
  MovedCall call{.attributes = node.attributes,
                 .inputs = broadcast_forms(graph, node, rank),
                 .outputs = std::vector<Form>(node.outputs.size(), Form::moved)};
  move_shape(call.attributes, move);
  return call;
}

std::optional<MovedCall> axis_call(const Node& node, ChannelMove move, int rank) {
  MovedCall call{
      .attributes = with(node, "axis", moved_axis(move, node.attributes.integer("axis"), rank)),
      .inputs = std::vector<Form>(node.inputs.size(), Form::moved),
      .outputs = std::vector<Form>(node.outputs.size(), Form::moved)};
  move_shape(call.attributes, move);
  return call;
}

std::optional<MovedCall> padding_call(const Node& node, ChannelMove move) {
  MovedCall call{.attributes = node.attributes, .inputs = {Form::moved}, .outputs = {Form::moved}};
  for (const std::string_view side : {"before", "after"}) {
    call.attributes.set(side, moved_entries(move, node.attributes.integers(side)));
  }
  return call;
}

}  // namespace

Axes move_order(ChannelMove move, int rank) {
  Axes order = {0};
  if (move == ChannelMove::to_first) order.push_back(rank - 1);
  for (int i = 1; i < rank; ++i) {
    if (i != (move == ChannelMove::to_last ? 1 : rank - 1)) order.push_back(i);
  }
  if (move == ChannelMove::to_last) order.push_back(1);
  return order;
}

std::int64_t moved_axis(ChannelMove move, std::int64_t axis, int rank) {
  const Axes order = move_order(move, rank);
  return std::ranges::find(order, axis) - order.begin();
}

Shape moved_shape(ChannelMove move, const Shape& shape) {
  const Axes dims = moved_entries(move, Axes(shape.begin(), shape.end()));
  return Shape(std::span<const std::int64_t>(dims));
}

bool keeps_bytes(ChannelMove move, const Shape& shape) {
  const std::int64_t channels = shape.dim(move == ChannelMove::to_last ? 1 : -1);
  return channels <= 1 || shape.elements() <= shape[0] * channels;
}

Axes composed(const Axes& first, const Axes& second) {
  Axes both;
  for (const std::int64_t i : second) both.push_back(first[static_cast<std::size_t>(i)]);
  return both;
}

bool is_identity(const Axes& order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

std::optional<MovedCall> moved_call(const Graph& graph, const Node& node, ChannelMove move) {
  const ops::OpDef& op = *node.op;
  if (op.writes != 0 || op.random || node.inputs.empty() || node.outputs.empty()) {
    return std::nullopt;
  }
  const Shape& first = graph.value(node.inputs[0]).type.shape;
  const int rank = graph.value(node.outputs[0]).type.shape.rank();
  switch (op.channels.rule) {
    case ops::ChannelRule::none:
      return std::nullopt;
    case ops::ChannelRule::picture:
      return picture_call(node, move, "nhwc");
    case ops::ChannelRule::normalize:
      if (first.rank() != 4) return std::nullopt;
      return picture_call(node, move, "channels_last");
    case ops::ChannelRule::reduction:
      return first.rank() < 3 ? std::nullopt : reduction_call(graph, node, move);
    case ops::ChannelRule::pointwise:
      // A single element has no place to be moved from, but broadcasting needs nothing else either.
      return rank < 3 ? std::nullopt : pointwise_call(graph, node, move, rank);
    case ops::ChannelRule::axis:
      return rank < 3 ? std::nullopt : axis_call(node, move, rank);
    case ops::ChannelRule::padding:
      return rank < 3 ? std::nullopt : padding_call(node, move);
  }
  return std::nullopt;
}

bool wants_move(const Graph& graph, const Node& node, ChannelMove move) {
  if (!node.op->channels.asks) return false;
  const DType dtype = graph.value(node.inputs[0]).type.dtype;
  if (dtype == DType::f64) return false;
  const bool last = ops::fast_with_channels_last(dtype, ops::uses_tf32(node.attributes));
  return last == (move == ChannelMove::to_last) && starts_from(move, node.attributes.flag("nhwc"));
}

}  // namespace plimsoll::graph

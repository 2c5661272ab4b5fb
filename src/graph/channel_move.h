#pragma once

#include <optional>
#include <vector>

#include <plimsoll/graph/graph.h>

// How ops work on tensors whose channels have moved.

namespace plimsoll::graph {

/// Where the channels of a tensor of rank 3 or more go: from dimension 1 to the end, or back.
enum class ChannelMove : std::uint8_t { to_last, to_first };

constexpr ChannelMove inverse(ChannelMove move) {
  return move == ChannelMove::to_last ? ChannelMove::to_first : ChannelMove::to_last;
}

using Axes = std::vector<std::int64_t>;

/// Dimension i of the moved tensor is dimension order[i] of the tensor as the user has it.
Axes move_order(ChannelMove move, int rank);
/// Where the user's dimension `axis` is in the moved tensor.
std::int64_t moved_axis(ChannelMove move, std::int64_t axis, int rank);
Shape moved_shape(ChannelMove move, const Shape& shape);
/// Whether moving changes nothing but the shape: one channel, or one pixel.
bool keeps_bytes(ChannelMove move, const Shape& shape);
/// transpose(transpose(x, first), second) as one.
Axes composed(const Axes& first, const Axes& second);
bool is_identity(const Axes& order);

/// How an operand is given to a call that works on moved tensors.
enum class Form : std::uint8_t {
  natural,  ///< as the user has it
  moved,
  lifted,  ///< brought to the output's rank by dimensions of 1 in front, then moved
};

/// A call of the same op on moved tensors.
struct MovedCall {
  ops::Attributes attributes;
  std::vector<Form> inputs;
  std::vector<Form> outputs;
};

/// Nothing where the op does not work on moved tensors, or depends on the order of elements.
/// `reshape` and `transpose` are not asked for.
std::optional<MovedCall> moved_call(const Graph& graph, const Node& node, ChannelMove move);

/// Whether it is a convolution, of any pass, that runs fastest after that move.
bool wants_move(const Graph& graph, const Node& node, ChannelMove move);

}  // namespace plimsoll::graph

#include "ops/scan_layout.h"

#include <algorithm>

namespace plimsoll::ops {
namespace {

constexpr Bytes kAlignment = 256;

Bytes rounded(Bytes bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Pieces that are in use, by their place.
class Pieces {
 public:
  explicit Pieces(Bytes begin) : begin_(begin) {}

  /// The lowest place with room, for use up to and with node `last`.
  Bytes take(Bytes bytes, int last) {
    Bytes at = begin_;
    auto next = live_.begin();
    for (; next != live_.end() && next->begin < at + bytes; ++next) at = next->end;
    live_.insert(next, {at, at + bytes, last});
    return at;
  }
  void release_before(int node) {
    std::erase_if(live_, [&](const Piece& piece) { return piece.last < node; });
  }

 private:
  struct Piece {
    Bytes begin;
    Bytes end;
    int last;
  };
  Bytes begin_;
  std::vector<Piece> live_;
};

}  // namespace

ScanLayout::ScanLayout(const ScanBody& body, const std::vector<std::int64_t>& recorded)
    : roots(body.types.size()), offsets(body.types.size(), kElsewhere) {
  for (int i = 0; i < body.states; ++i) {
    turns.push_back({kElsewhere, kElsewhere});
    if (recorded[static_cast<std::size_t>(i)] != 0) continue;
    for (Bytes& turn : turns.back()) {
      turn = bytes;
      bytes += rounded(body.type(i).bytes());
    }
  }
  for (std::size_t i = 0; i < roots.size(); ++i) roots[i] = static_cast<int>(i);
  std::vector<int> last(roots.size(), -1);
  const auto root = [&](int value) -> int& { return roots[static_cast<std::size_t>(value)]; };
  for (std::size_t n = 0; n < body.nodes.size(); ++n) {
    const ScanBody::Node& node = body.nodes[n];
    if (node.op->view) root(node.outputs.front()) = root(node.inputs.front());
    for (const auto* values : {&node.inputs, &node.outputs}) {
      for (const int value : *values) {
        last[static_cast<std::size_t>(root(value))] = static_cast<int>(n);
      }
    }
  }
  Pieces pieces(bytes);
  for (std::size_t n = 0; n < body.nodes.size(); ++n) {
    const ScanBody::Node& node = body.nodes[n];
    pieces.release_before(static_cast<int>(n));
    if (node.op->view) continue;
    for (const int value : node.outputs) {
      if (std::ranges::find(body.results, value) != body.results.end()) continue;
      const auto at = static_cast<std::size_t>(value);
      const Bytes size = rounded(std::max<Bytes>(body.type(value).bytes(), 1));
      offsets[at] = pieces.take(size, last[at]);
      bytes = std::max(bytes, offsets[at] + size);
    }
  }
}

Bytes scan_gpu_workspace(const ScanBody& body, const std::vector<std::int64_t>& recorded) {
  Bytes most = kWorkspaceSlot;
  for (const ScanBody::Node& node : body.nodes) {
    if (node.op->workspace == nullptr) continue;
    std::vector<TensorType> in;
    std::vector<TensorType> out;
    for (const int value : node.inputs) in.push_back(body.type(value));
    for (const int value : node.outputs) out.push_back(body.type(value));
    most = std::max(most, node.op->workspace({*node.op, in, node.attributes}, out));
  }
  return ScanLayout(body, recorded).bytes + most;
}

}  // namespace plimsoll::ops

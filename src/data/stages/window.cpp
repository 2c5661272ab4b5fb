#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/node.h"
#include "data/stages/gather_stage.h"

namespace plimsoll::data {
namespace {

std::string window_parameters(const Gathering& g) {
  return fmt::format("{}, shift={}, stride={}{}", g.size, g.shift, g.stride,
                     g.drop_remainder ? ", drop_remainder" : "");
}

std::int64_t windows_of(const Node& input, const Gathering& g) {
  const std::int64_t all = input.cardinality();
  if (all < 0) return all;
  if (!g.drop_remainder) return all / g.shift + (all % g.shift == 0 ? 0 : 1);
  return all < g.span() ? 0 : (all - g.span()) / g.shift + 1;
}

bool full_windows_only(const Node& input, const Gathering& g) {
  const std::int64_t all = input.cardinality();
  if (g.drop_remainder || all == kInfinite || all == 0) return true;
  if (all < 0) return false;
  const std::int64_t last = (windows_of(input, g) - 1) * g.shift;
  return g.span() <= all - last;
}

ElementSpec windowed(const Node& input, const Gathering& g) {
  ElementSpec result = input.spec();
  const std::int64_t extent = full_windows_only(input, g) ? g.size : kAnyExtent;
  for (TensorSpec& component : result.components) component = component.batched(extent);
  return result;
}

class WindowNode final : public Node {
 public:
  WindowNode(const NodePtr& input, const Gathering& gathering)
      : Node("window", window_parameters(gathering), {input}, windowed(*input, gathering),
             windows_of(*input, gathering)),
        gathering_(gathering) {}
  StagePtr make(Builder& builder) const override {
    Engine& engine = builder.engine();
    return std::make_unique<GatherStage>(
        builder.input(*this), engine, title(), gathering_, Collator("window"),
        engine.budget().charge(Tag::input, title(), slots() * GatherStage::kSlotBytes));
  }
  Bytes minimum(int /*threads*/) const override {
    const ElementSpec& row = inputs()[0]->spec();
    const Bytes rows = std::min(slots(), static_cast<Bytes>(gathering_.size));
    return slots() * GatherStage::slot_bytes(row) + rows * row.nbytes().value_or(0);
  }

 private:
  Bytes slots() const {
    const std::int64_t all = inputs()[0]->cardinality();
    return static_cast<Bytes>(all >= 0 ? std::min(all, gathering_.span()) : gathering_.span());
  }
  Gathering gathering_;
};

}  // namespace

Dataset Dataset::window(std::int64_t size, const WindowOptions& options) const {
  const Gathering gathering{size, options.shift.value_or(size), options.stride,
                            options.drop_remainder};
  std::int64_t most = 0;
  if (size < 1 || gathering.shift < 1 || options.stride < 1 ||
      __builtin_mul_overflow(size, options.stride, &most) || most > kMostGathered) {
    throw InvalidArgument(fmt::format(
        "[window] a size of {} with shift {} and stride {}; give 1 or more for each, and at most "
        "{} elements from end to end",
        size, gathering.shift, options.stride, kMostGathered));
  }
  return Dataset(std::make_shared<WindowNode>(node_, gathering));
}

}  // namespace plimsoll::data

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/engine/indexed_stage.h"

namespace plimsoll::data {
namespace {

class RangeNode final : public IndexedNode {
 public:
  RangeNode(std::int64_t begin, std::int64_t end, std::int64_t step, std::int64_t count)
      : IndexedNode("range", fmt::format("{}, {}, {}", begin, end, step),
                    {true, {TensorSpec::scalar(DType::i64)}, {}}, count),
        begin_(begin),
        step_(step) {}
  Element get(std::int64_t index, Engine& /*engine*/) const override {
    Element element;
    element.push_back(begin_ + index * step_);
    return element;
  }

 private:
  std::int64_t begin_;
  std::int64_t step_;
};

}  // namespace

Dataset Dataset::range(std::int64_t begin, std::int64_t end, std::int64_t step) {
  if (step == 0) throw InvalidArgument("[range] a step of 0 never ends");
  const bool some = step > 0 ? begin < end : begin > end;
  std::int64_t distance = 0;
  if (some && __builtin_sub_overflow(end, begin, &distance)) {
    throw InvalidArgument(fmt::format("[range] {} to {} are too many", begin, end));
  }
  const std::int64_t count = some ? (distance + step - (step > 0 ? 1 : -1)) / step : 0;
  return Dataset(std::make_shared<RangeNode>(begin, end, step, count));
}

}  // namespace plimsoll::data

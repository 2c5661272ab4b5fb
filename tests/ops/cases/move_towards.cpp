// move_towards beside the same written out.
#include "support/op_cases.h"

namespace plimsoll::test {
namespace {

constexpr double kKeep = 0.75;
constexpr double kShare = 0.5;

OpCase case_of(const std::vector<double>& target, const std::vector<double>& value,
               const Shape& shape) {
  std::vector<double> moved;
  for (std::size_t i = 0; i < target.size(); ++i) {
    moved.push_back(kKeep * target[i] + kShare * value[i]);
  }
  return {
      .op = "move_towards",
      .description = shape.to_string(),
      .attributes = {{"keep", kKeep}, {"share", kShare}},
      .inputs = {from_doubles(target, shape, DType::f64), from_doubles(value, shape, DType::f64)},
      .outputs = {from_doubles(moved, shape, DType::f64)}};
}

const RegisterOpCases kCases([]() -> std::vector<OpCase> {
  return {case_of({1, -2, 0.5, 3, 0, 7}, {4, 5, -6, 0.25, 1, -1}, {2, 3}), case_of({2}, {-8}, {}),
          case_of({}, {}, {0, 4})};
});

}  // namespace
}  // namespace plimsoll::test

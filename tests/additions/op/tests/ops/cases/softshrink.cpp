// softshrink with the numbers that torch.nn.functional.softshrink gives.
#include "support/op_cases.h"

namespace plimsoll::test {
namespace {

Tensor row(const std::vector<double>& values) {
  return from_doubles(values, {static_cast<std::int64_t>(values.size())}, DType::f64);
}

const RegisterOpCases kCases([]() -> std::vector<OpCase> {
  const Tensor x = row({-2, -0.75, -0.3, 0, 0.25, 0.625, 3.5});
  const Tensor y = row({-1.5, -0.25, 0, 0, 0, 0.125, 3});
  const Tensor dy = row({1, -2, 3, 4, 5, 0.5, -0.25});
  const Tensor dx = row({1, -2, 0, 0, 0, 0.5, -0.25});
  return {
      {.op = "softshrink", .attributes = {{"lambda", 0.5}}, .inputs = {x}, .outputs = {y}},
      {.op = "softshrink",
       .attributes = {{"lambda", 1.0}},
       .inputs = {row({-1, 1, 1.5})},
       .outputs = {row({0, 0, 0.5})},
       .gradient = false},
      {.op = "softshrink",
       .attributes = {{"lambda", 0.5}},
       .inputs = {row({})},
       .outputs = {row({})}},
      {.op = "softshrink_grad", .inputs = {dy, y}, .outputs = {dx}},
      {.op = "softshrink_grad", .inputs = {row({}), row({})}, .outputs = {row({})}},
  };
});

}  // namespace
}  // namespace plimsoll::test

#pragma once

#include <concepts>

#include <plimsoll/ops/reduce.h>

namespace plimsoll::ops {

// The reductions of ops/reduce.h along one axis, which goes away: `mean(x, 1)`, `sum(x, -1)`.

template <std::integral Axis>
Tensor sum(const Tensor& x, Axis axis) {
  return sum(x, {.axes = {static_cast<std::int64_t>(axis)}});
}
template <std::integral Axis>
Tensor mean(const Tensor& x, Axis axis) {
  return mean(x, {.axes = {static_cast<std::int64_t>(axis)}});
}
template <std::integral Axis>
Tensor max(const Tensor& x, Axis axis) {
  return max(x, {.axes = {static_cast<std::int64_t>(axis)}});
}
template <std::integral Axis>
Tensor min(const Tensor& x, Axis axis) {
  return min(x, {.axes = {static_cast<std::int64_t>(axis)}});
}
template <std::integral Axis>
Tensor variance(const Tensor& x, Axis axis) {
  return variance(x, {.axes = {static_cast<std::int64_t>(axis)}});
}
template <std::integral Axis>
Tensor any(const Tensor& x, Axis axis) {
  return any(x, {.axes = {static_cast<std::int64_t>(axis)}});
}
template <std::integral Axis>
Tensor all(const Tensor& x, Axis axis) {
  return all(x, {.axes = {static_cast<std::int64_t>(axis)}});
}

}  // namespace plimsoll::ops

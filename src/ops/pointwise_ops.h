#pragma once

#include <array>
#include <string_view>

namespace plimsoll::ops {

/// A pointwise op as a function of elements, by the name it has in
/// backend/cuda/kernels/element.cuh.
struct PointwiseOp {
  std::string_view name;
  int inputs = 1;
  /// Attributes that follow the elements as numbers.
  std::array<std::string_view, 2> numbers = {};
  /// Its first template argument is whether results are rounded to 16 bits.
  bool quick = false;
  /// An attribute that is its first template argument.
  std::string_view flag = {};
};

/// Null if there is no such function.
const PointwiseOp* find_pointwise_op(std::string_view name);

}  // namespace plimsoll::ops

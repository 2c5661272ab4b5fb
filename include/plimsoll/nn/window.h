#pragma once

#include <cstdint>

#include <plimsoll/ops/convolution.h>

namespace plimsoll::nn {

/// Two extents, down and across; one number stands for both: `.stride = 2`, `.stride = {2, 1}`.
struct Pair {
  std::int64_t down = 1;
  std::int64_t across = 1;
  Pair(std::int64_t both) : down(both), across(both) {}  // NOLINT: {.stride = 2}
  Pair(std::int64_t first, std::int64_t second) : down(first), across(second) {}
};

/// Zeros around pictures: as many on opposite sides, or as many as keep the size (`nn::kSame`).
struct WindowPadding {
  std::int64_t down = 0;
  std::int64_t across = 0;
  /// The result has size / stride pixels, rounded up, as TensorFlow's "same": where the zeros do
  /// not divide by two, the odd one is below and to the right.
  bool same = false;
  WindowPadding(std::int64_t both) : down(both), across(both) {}  // NOLINT: {.padding = 1}
  WindowPadding(std::int64_t first, std::int64_t second) : down(first), across(second) {}
};
inline const WindowPadding kSame = [] {
  WindowPadding padding(0);
  padding.same = true;
  return padding;
}();

/// What `padding` is on the four sides of pictures of `height` x `width`.
ops::Padding sides(const WindowPadding& padding, std::int64_t height, std::int64_t width,
                   const Pair& size, const Pair& stride, const Pair& dilation = 1);

}  // namespace plimsoll::nn

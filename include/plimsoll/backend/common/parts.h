#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <plimsoll/ops/kernel.h>

// Functions of elements of several tensors whose rows [parts * size] hold parts side by side, as
// the gates of a recurrent cell do:
//
//   struct Cell {
//     static constexpr std::array kIn = {4, 1};  // parts of each input
//     static constexpr std::array kOut = {1};    // and of each output
//     template <typename T>
//     PLIMSOLL_INLINE static Parts<T, 1> apply(T first, T second, T third, T fourth, T state);
//   };
//
// A backend runs it for each of the `size` places of each row.

namespace plimsoll::backend {

/// A number for each part of the outputs.
template <typename T, int N>
struct Parts {
  T at[N];
};

template <std::size_t N>
constexpr int sum_of_parts(const std::array<int, N>& parts) {
  int sum = 0;
  for (const int part : parts) sum += part;
  return sum;
}
template <typename F>
inline constexpr int kPartsIn = sum_of_parts(F::kIn);
template <typename F>
inline constexpr int kPartsOut = sum_of_parts(F::kOut);

/// Where a part begins, and how far it is from one row to the next, in elements.
template <typename T>
struct PartRows {
  T* begin = nullptr;
  std::int64_t stride = 0;
};

/// All parts of some tensors in order; `views` has one for each of `parts`.
template <typename T, std::size_t N, typename Rows>
void fill_parts(const std::array<int, N>& parts, std::span<const ops::TensorView> views,
                std::int64_t size, Rows& rows) {
  int next = 0;
  for (std::size_t i = 0; i < N; ++i) {
    for (int part = 0; part < parts[i]; ++part) {
      rows[next++] = {views[i].template as<T>() + part * size, parts[i] * size};
    }
  }
}

/// How many places there are: `size` of each of `rows`.
struct PartsShape {
  std::int64_t rows = 0;
  std::int64_t size = 0;

  template <typename F>
  static PartsShape of(const ops::KernelContext& k) {
    const Shape& shape = k.in(0).shape();
    const std::int64_t width = shape.rank() == 0 ? 1 : shape.dim(-1);
    if (width == 0) return {};
    return {k.in(0).elements() / width, width / F::kIn[0]};
  }
};

}  // namespace plimsoll::backend

#pragma once

#include <type_traits>

#include <plimsoll/backend/common/dtype_switch.h>
#include <plimsoll/base/dtype.h>
#include <plimsoll/base/half.h>
#include <plimsoll/ops/element.h>

namespace plimsoll::cpu {

/// In what values of T are computed: f32 for the 16-bit floats, else T itself.
template <typename T>
using Acc = std::conditional_t<std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>, float, T>;

/// A number as an element; integers take the nearest they have.
template <typename T>
T as_element(double value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return ops::nearest_integer<T>(value);
  } else {
    return static_cast<T>(static_cast<Acc<T>>(value));
  }
}

// The switches of backend/common: `body.template operator()<T>()` for the C++ type of a dtype.

template <typename Body>
void with_float(DType dtype, Body&& body) {
  backend::with_float<Float16, BFloat16>("cpu", dtype, static_cast<Body&&>(body));
}
template <typename Body>
void with_integer(DType dtype, Body&& body) {
  backend::with_integer("cpu", dtype, static_cast<Body&&>(body));
}
template <typename Body>
void with_number(DType dtype, Body&& body) {
  backend::with_number<Float16, BFloat16>("cpu", dtype, static_cast<Body&&>(body));
}
template <typename Body>
void with_any(DType dtype, Body&& body) {
  backend::with_any<Float16, BFloat16>("cpu", dtype, static_cast<Body&&>(body));
}

}  // namespace plimsoll::cpu

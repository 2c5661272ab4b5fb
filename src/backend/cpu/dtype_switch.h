#pragma once

#include <type_traits>

#include <fmt/format.h>

#include <plimsoll/base/dtype.h>
#include <plimsoll/base/error.h>

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

/// Calls `body.template operator()<T>()` for the C++ type of a floating dtype.
template <typename Body>
void with_float(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::f64:
      return body.template operator()<double>();
    case DType::f32:
      return body.template operator()<float>();
    case DType::f16:
      return body.template operator()<Float16>();
    case DType::bf16:
      return body.template operator()<BFloat16>();
    default:
      throw InternalError(fmt::format("[cpu] no kernel for {}", dtype_name(dtype)));
  }
}

/// The same for integers.
template <typename Body>
void with_integer(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::i64:
      return body.template operator()<std::int64_t>();
    case DType::i32:
      return body.template operator()<std::int32_t>();
    case DType::i16:
      return body.template operator()<std::int16_t>();
    case DType::i8:
      return body.template operator()<std::int8_t>();
    case DType::u16:
      return body.template operator()<std::uint16_t>();
    case DType::u8:
      return body.template operator()<std::uint8_t>();
    default:
      throw InternalError(fmt::format("[cpu] no kernel for {}", dtype_name(dtype)));
  }
}

/// The same for all dtypes that are numbers.
template <typename Body>
void with_number(DType dtype, Body&& body) {
  if (is_floating(dtype)) return with_float(dtype, static_cast<Body&&>(body));
  return with_integer(dtype, static_cast<Body&&>(body));
}

/// The same for all dtypes but bytes.
template <typename Body>
void with_any(DType dtype, Body&& body) {
  if (dtype == DType::boolean) return body.template operator()<bool>();
  return with_number(dtype, static_cast<Body&&>(body));
}

}  // namespace plimsoll::cpu

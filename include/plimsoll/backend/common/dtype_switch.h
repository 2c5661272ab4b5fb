#pragma once

#include <cstdint>
#include <string>

#include <plimsoll/base/dtype.h>
#include <plimsoll/base/error.h>

// From a dtype to the C++ type of its elements: `body.template operator()<T>()`. Backends have
// types of their own for the 16-bit floats, and switches of their own on top of these.

namespace plimsoll::backend {

[[noreturn]] inline void no_kernel_for(const char* who, DType dtype) {
  throw InternalError("[" + std::string(who) + "] no kernel for " + std::string(dtype_name(dtype)));
}

/// The floating dtypes. `who` speaks in the InternalError for others.
template <typename Half, typename BrainHalf, typename Body>
void with_float(const char* who, DType dtype, Body&& body) {
  switch (dtype) {
    case DType::f64:
      return body.template operator()<double>();
    case DType::f32:
      return body.template operator()<float>();
    case DType::f16:
      return body.template operator()<Half>();
    case DType::bf16:
      return body.template operator()<BrainHalf>();
    default:
      no_kernel_for(who, dtype);
  }
}

/// The integers.
template <typename Body>
void with_integer(const char* who, DType dtype, Body&& body) {
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
      no_kernel_for(who, dtype);
  }
}

/// All dtypes that are numbers.
template <typename Half, typename BrainHalf, typename Body>
void with_number(const char* who, DType dtype, Body&& body) {
  if (!is_floating(dtype)) return with_integer(who, dtype, static_cast<Body&&>(body));
  return with_float<Half, BrainHalf>(who, dtype, static_cast<Body&&>(body));
}

/// All dtypes but bytes.
template <typename Half, typename BrainHalf, typename Body>
void with_any(const char* who, DType dtype, Body&& body) {
  if (dtype == DType::boolean) return body.template operator()<bool>();
  return with_number<Half, BrainHalf>(who, dtype, static_cast<Body&&>(body));
}

}  // namespace plimsoll::backend

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <plimsoll/base/half.h>

namespace plimsoll {

/// What the elements of a tensor are.
///
/// `boolean` is one byte, 0 or 1. `bytes` is a byte string of any length (a path, a record); it
/// exists on the host only.
enum class DType : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  i64,
  i32,
  i16,
  i8,
  u16,
  u8,
  boolean,
  bytes,
};

inline constexpr std::size_t kDTypeCount = 12;

/// Every dtype, in the order of the enum.
inline constexpr std::array<DType, kDTypeCount> kDTypes = {
    DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64,     DType::i32,
    DType::i16, DType::i8,  DType::u16, DType::u8,   DType::boolean, DType::bytes};

/// Bytes per element; 0 for DType::bytes, whose elements differ in length.
constexpr std::size_t dtype_size(DType dtype) {
  constexpr std::array<std::size_t, kDTypeCount> kSizes = {8, 4, 2, 2, 8, 4, 2, 1, 2, 1, 1, 0};
  return kSizes[static_cast<std::size_t>(dtype)];
}

/// "f32", "bf16", "bool", "bytes".
constexpr std::string_view dtype_name(DType dtype) {
  constexpr std::array<std::string_view, kDTypeCount> kNames = {
      "f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u16", "u8", "bool", "bytes"};
  return kNames[static_cast<std::size_t>(dtype)];
}

constexpr bool is_floating(DType dtype) { return dtype <= DType::bf16; }
constexpr bool is_integer(DType dtype) { return dtype >= DType::i64 && dtype <= DType::u8; }

/// Reads a name as dtype_name() writes it, or as NumPy does ("float32", "bfloat16", "uint8").
/// Throws InvalidArgument naming `what`, the text and what there is.
DType parse_dtype(std::string_view text, std::string_view what = "dtype");

namespace detail {
template <typename T>
struct DTypeOf;
template <DType D>
struct IsDType {
  static constexpr DType kValue = D;
};
template <>
struct DTypeOf<double> : IsDType<DType::f64> {};
template <>
struct DTypeOf<float> : IsDType<DType::f32> {};
template <>
struct DTypeOf<Float16> : IsDType<DType::f16> {};
template <>
struct DTypeOf<BFloat16> : IsDType<DType::bf16> {};
template <>
struct DTypeOf<std::int64_t> : IsDType<DType::i64> {};
template <>
struct DTypeOf<std::int32_t> : IsDType<DType::i32> {};
template <>
struct DTypeOf<std::int16_t> : IsDType<DType::i16> {};
template <>
struct DTypeOf<std::int8_t> : IsDType<DType::i8> {};
template <>
struct DTypeOf<std::uint16_t> : IsDType<DType::u16> {};
template <>
struct DTypeOf<std::uint8_t> : IsDType<DType::u8> {};
template <>
struct DTypeOf<bool> : IsDType<DType::boolean> {};
}  // namespace detail

/// The dtype whose elements are C++ objects of type T: dtype_of<float> is DType::f32. Other types
/// do not compile.
template <typename T>
inline constexpr DType dtype_of = detail::DTypeOf<T>::kValue;

static_assert(sizeof(bool) == 1, "DType::boolean is one byte");

}  // namespace plimsoll

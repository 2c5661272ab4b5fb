#include <plimsoll/base/dtype.h>

#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>

namespace plimsoll {

DType parse_dtype(std::string_view text, std::string_view what) {
  constexpr std::array<std::pair<std::string_view, DType>, 10> kNumpyNames = {{
      {"float64", DType::f64},
      {"float32", DType::f32},
      {"float16", DType::f16},
      {"bfloat16", DType::bf16},
      {"int64", DType::i64},
      {"int32", DType::i32},
      {"int16", DType::i16},
      {"int8", DType::i8},
      {"uint16", DType::u16},
      {"uint8", DType::u8},
  }};
  std::array<std::string_view, kDTypeCount> names;
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    names[i] = dtype_name(kDTypes[i]);
    if (names[i] == text) return kDTypes[i];
  }
  for (const auto& [name, dtype] : kNumpyNames) {
    if (name == text) return dtype;
  }
  throw InvalidArgument(fmt::format("{}: \"{}\" is not a dtype; there are {}", what,
                                    text.substr(0, 64), fmt::join(names, ", ")));
}

}  // namespace plimsoll

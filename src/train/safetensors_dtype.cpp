#include "train/safetensors_dtype.h"

#include <array>

namespace plimsoll::train {
namespace {

// By dtype, in the order of the enum.
constexpr std::array<std::string_view, kDTypeCount> kNames = {
    "F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U16", "U8", "BOOL", ""};

}  // namespace

std::string_view dtype_to_safetensors(DType dtype) {
  return kNames[static_cast<std::size_t>(dtype)];
}

std::optional<DType> dtype_from_safetensors(std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (const DType dtype : kDTypes) {
    if (dtype_to_safetensors(dtype) == name) return dtype;
  }
  return std::nullopt;
}

}  // namespace plimsoll::train

#pragma once

#include <optional>
#include <string_view>

#include <plimsoll/base/dtype.h>

namespace plimsoll::train {

/// "F32"; empty for DType::bytes, which such files cannot hold.
std::string_view dtype_to_safetensors(DType dtype);
/// nullopt for what is none of ours: "F8_E4M3".
std::optional<DType> dtype_from_safetensors(std::string_view name);

}  // namespace plimsoll::train

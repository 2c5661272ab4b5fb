#include <plimsoll/train/precision.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll::train {

Precision::Precision(DType dtype) : compute(dtype) {
  if (dtype != DType::f32 && dtype != DType::bf16 && dtype != DType::f16) {
    throw InvalidArgument(
        fmt::format("[Precision] {} is no policy; there are f32, bf16 and f16", dtype_name(dtype)));
  }
  if (dtype == DType::f16) loss_scale.emplace();
}

Precision Precision::parse(const std::string& text) { return parse_dtype(text, "precision"); }

}  // namespace plimsoll::train

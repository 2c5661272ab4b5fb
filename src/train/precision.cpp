#include <plimsoll/train/precision.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll::train {

Precision::Precision(DType dtype) : compute(dtype) {
  if (dtype != DType::f32 && dtype != DType::bf16 && dtype != DType::f16) {
    throw InvalidArgument(fmt::format(
        "[Precision] {} is not a precision; use f32, tf32, bf16 or f16", dtype_name(dtype)));
  }
  if (dtype == DType::f16) loss_scale.emplace();
}

Precision::Precision(Tf32) : tf32(true) {}

Precision Precision::parse(const std::string& text) {
  if (text == "tf32") return Tf32{};
  DType dtype = DType::f32;
  try {
    dtype = parse_dtype(text, "precision");
  } catch (const InvalidArgument&) {
    throw InvalidArgument(
        fmt::format("[Precision] \"{}\" is not a precision; use f32, tf32, bf16 or f16", text));
  }
  return dtype;
}

std::string Precision::name() const { return tf32 ? "tf32" : std::string(dtype_name(compute)); }

}  // namespace plimsoll::train

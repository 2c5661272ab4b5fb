#include "data/program/op.h"

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll::data {

void SpecInputs::fail(const std::string& message) const {
  std::string specs;
  for (const TensorSpec& spec : specs_) {
    specs += specs.empty() ? "" : ", ";
    specs += spec.to_string();
  }
  throw InvalidArgument(fmt::format("[{}] {} ({})", op_.name, message, specs));
}

void SpecInputs::require_bytes(int i) const {
  if ((*this)[i].dtype != DType::bytes) fail("takes byte strings (a path, a text, a file)");
}

void SpecInputs::require_one_text(int i) const {
  require_bytes(i);
  const auto& dims = (*this)[i].dims;
  if (dims && !dims->empty()) fail("takes one byte string, not several");
}

const std::vector<std::int64_t>& SpecInputs::require_picture(int i) const {
  const TensorSpec& spec = (*this)[i];
  const bool numbers = spec.dtype == DType::u8 || spec.dtype == DType::f32;
  if (spec.dtype == DType::bytes) fail("takes an image; use decode on the bytes first");
  if (!numbers || !spec.dims || spec.dims->size() != 3) {
    fail("takes an image: u8 or f32 [height,width,channels]");
  }
  return *spec.dims;
}

std::int64_t SpecInputs::require_positive(std::string_view name) const {
  const std::int64_t value = attributes_.integer(name);
  if (value < 1) fail(fmt::format("{} is {}; give 1 or more", name, value));
  return value;
}

ProgramInput::ProgramInput(const Value& value) : value_(&value) {
  if (value.is_scalar()) {
    type_.dtype = value.dtype();
    data_ = &value.bits();
    return;
  }
  type_ = value.tensor().type();
  if (type_.dtype != DType::bytes) data_ = value.tensor().raw_data();
}

ProgramInput::ProgramInput(const ProgramConstant& constant)
    : type_{constant.dtype, constant.shape}, constant_(&constant) {
  if (constant.dtype != DType::bytes) data_ = constant.data.data();
}

std::string_view ProgramInput::text(std::int64_t index) const {
  if (constant_ != nullptr) return constant_->strings[static_cast<std::size_t>(index)];
  return value_->tensor().string_at(index);
}

Tensor ProgramCall::output(const Shape& shape, DType dtype, int i) {
  const int place = places_[static_cast<std::size_t>(i)];
  Tensor tensor = place >= 0 ? context_.output(static_cast<std::size_t>(place)).reshape(shape)
                             : context_.empty(shape, dtype);
  results_[static_cast<std::size_t>(i)] = Value(tensor);
  return tensor;
}

Philox::Counter ProgramCall::random(std::uint32_t draw) const {
  return random_of(context_, random_index_, draw);
}

Philox::Counter random_of(const MapContext& context, std::uint32_t index, std::uint32_t draw) {
  constexpr std::uint32_t kDrawsOfAnOp = 256;
  return context.random(index * kDrawsOfAnOp + draw);
}

}  // namespace plimsoll::data

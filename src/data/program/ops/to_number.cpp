// Byte strings that are written numbers.
#include <charconv>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>

#include "data/program/texts.h"

namespace plimsoll::data::program_ops {
namespace {

[[noreturn]] void refuse(std::string_view text, DType dtype, const char* why) {
  throw DataError(fmt::format("[to_number] \"{}\" {} {}", printable(text), why, dtype_name(dtype)));
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  if (text.starts_with('+')) text.remove_prefix(1);
  return text;
}

/// The whole text must be a number.
template <typename T>
T parsed(std::string_view text) {
  const std::string_view digits = without_blanks(text);
  T value{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) refuse(text, dtype_of<T>, "does not fit");
  if (error != std::errc() || end != digits.data() + digits.size()) {
    refuse(text, dtype_of<T>, "is not a number of");
  }
  return value;
}

void run_to_number(ProgramCall& call) {
  const auto as = [&call]<typename T>(T) {
    each_number<T>(call, [](std::string_view text) { return parsed<T>(text); });
  };
  switch (call.attributes().dtype("dtype")) {
    case DType::f64:
      return as(double{});
    case DType::f32:
      return as(float{});
    case DType::i64:
      return as(std::int64_t{});
    case DType::i32:
      return as(std::int32_t{});
    case DType::i16:
      return as(std::int16_t{});
    case DType::i8:
      return as(std::int8_t{});
    case DType::u16:
      return as(std::uint16_t{});
    case DType::u8:
      return as(std::uint8_t{});
    default:
      break;
  }
}

std::vector<TensorSpec> to_number_specs(const SpecInputs& inputs) {
  const DType dtype = inputs.attributes().dtype("dtype");
  if (!is_integer(dtype) && dtype != DType::f32 && dtype != DType::f64) {
    inputs.fail(
        fmt::format("gives f64, f32 or integers, not {}; use cast after it", dtype_name(dtype)));
  }
  return shaped_like_texts(inputs, dtype);
}

}  // namespace

std::span<const ProgramOp> to_number() {
  static constexpr ProgramOp kOps[] = {
      {.name = "to_number",
       .summary = "strings as the numbers they are written as",
       .specs = to_number_specs,
       .run = run_to_number},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops

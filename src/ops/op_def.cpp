#include <plimsoll/ops/op_def.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/dispatcher.h>

namespace plimsoll::ops {

std::string DTypeSet::to_string() const {
  std::string text;
  for (const DType dtype : kDTypes) {
    if (has(dtype)) text += fmt::format("{}{}", text.empty() ? "" : ", ", dtype_name(dtype));
  }
  return text;
}

void OpInputs::fail(const std::string& message) const {
  std::vector<std::string> types;
  for (const TensorType& type : types_) types.push_back(type.to_string());
  const std::string attributes = attributes_->to_string();
  const std::string& scope = NameScope::current();
  throw InvalidArgument(fmt::format("[{}] {} ({}{}{}){}{}", def_->name, message,
                                    fmt::join(types, ", "), attributes.empty() ? "" : "; ",
                                    attributes, scope.empty() ? "" : " in ", scope));
}

void OpInputs::require_same_dtype(int first) const {
  for (int i = first + 1; i < count(); ++i) {
    if (dtype(i) != dtype(first))
      fail("inputs have different dtypes; cast one of them: cast(x, dtype)");
  }
}

void OpInputs::require_rank(int input, int rank) const {
  if (shape(input).rank() != rank) {
    fail(fmt::format("input {} must have {} dimensions", input, rank));
  }
}

Cost OpDef::cost_of(const OpInputs& in, std::span<const TensorType> outputs) const {
  if (cost != nullptr) return cost(in, outputs);
  Cost result;
  if (view) return result;
  for (const TensorType& type : in.types()) result.bytes += static_cast<double>(type.bytes());
  for (const TensorType& type : outputs) {
    result.bytes += static_cast<double>(type.bytes());
    result.flops += static_cast<double>(type.elements());
  }
  return result;
}

}  // namespace plimsoll::ops

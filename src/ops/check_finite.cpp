#include "ops/check_finite.h"

#include <cmath>
#include <type_traits>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll::ops {
namespace {

/// Index of the first element that is no finite number; -1 if there is none.
template <typename T>
std::int64_t first_not_finite(const Tensor& tensor) {
  const auto values = tensor.to_vector<T>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    if (!std::isfinite(static_cast<Wide>(values[i]))) return static_cast<std::int64_t>(i);
  }
  return -1;
}

std::int64_t first_not_finite(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::f64:
      return first_not_finite<double>(tensor);
    case DType::f32:
      return first_not_finite<float>(tensor);
    case DType::f16:
      return first_not_finite<Float16>(tensor);
    case DType::bf16:
      return first_not_finite<BFloat16>(tensor);
    default:
      return -1;
  }
}

}  // namespace

void check_outputs_finite(const OpCall& call, std::span<const Tensor> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::int64_t at = first_not_finite(outputs[i]);
    if (at < 0) continue;
    std::string inputs;
    for (const Tensor& input : call.inputs) {
      inputs += fmt::format("{}{}{}", inputs.empty() ? "" : ", ", input.type().to_string(),
                            first_not_finite(input) >= 0 ? " (not finite)" : "");
    }
    const std::string& scope = NameScope::current();
    throw Error(fmt::format(
        "[{}] output {} {} has a NaN or an infinity at element {}{}{}; inputs: {}", call.def.name,
        i, outputs[i].type().to_string(), at, scope.empty() ? "" : ", in ", scope, inputs));
  }
}

}  // namespace plimsoll::ops

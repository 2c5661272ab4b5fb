#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/tf32.h>

namespace plimsoll::ops {
namespace {

/// The dtype that floating inputs are brought to; nullopt: they stay.
std::optional<DType> wanted_dtype(const OpDef& def, std::span<const Tensor> inputs) {
  const std::optional<DType> compute = PrecisionScope::current();
  if (!compute || def.precision == Precision::keep) return std::nullopt;
  if (def.precision == Precision::compute) return compute;
  // The order of the enum is from wide to narrow; f16 and bf16 meet in f32.
  std::optional<DType> widest;
  for (const Tensor& input : inputs) {
    const DType dtype = input.dtype();
    if (!is_floating(dtype)) continue;
    if (!widest || *widest == dtype) {
      widest = dtype;
    } else {
      widest = std::min({*widest, dtype, DType::f32});
    }
  }
  if (def.precision == Precision::full && widest) widest = std::min(*widest, DType::f32);
  return widest;
}

/// Whether the scope in force makes this call one in TF32.
bool becomes_tf32(const OpDef& def, std::span<const Tensor> inputs, const Attributes& attributes) {
  return Tf32Scope::current() && def.precision == Precision::compute && !attributes.has("tf32") &&
         !inputs.empty() && inputs.front().dtype() == DType::f32;
}

/// True if `tensor` is floating and of another dtype; f64, which is for tests, is left alone.
bool differs(const Tensor& tensor, DType wanted) {
  const DType dtype = tensor.dtype();
  return is_floating(dtype) && dtype != DType::f64 && dtype != wanted;
}

std::vector<Tensor> checked(const OpDef& def, std::span<const Tensor> inputs,
                            const Attributes& attributes) {
  std::vector<TensorType> types;
  types.reserve(inputs.size());
  for (const Tensor& input : inputs) types.push_back(input.type());
  const OpInputs view(def, types, attributes);
  const int most = def.inputs + def.optional_inputs;
  if (view.count() < def.inputs || (view.count() > most && !def.variadic)) {
    view.fail(fmt::format("takes {} inputs, not {}", def.inputs, view.count()));
  }
  if (view.count() > 0 && !def.dtypes.has(view.dtype(0))) {
    view.fail(fmt::format("is not defined for {}, but for {}; cast it: cast(x, dtype)",
                          dtype_name(view.dtype(0)), def.dtypes.to_string()));
  }
  const std::vector<TensorType> outputs = def.types(view);
  return Dispatcher::current().call({def, inputs, attributes, outputs});
}

}  // namespace

std::vector<Tensor> call(const OpDef& def, std::span<const Tensor> inputs,
                         const Attributes& attributes) {
  while (!inputs.empty() && !inputs.back().defined()) inputs = inputs.first(inputs.size() - 1);
  if (!std::all_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return t.defined(); })) {
    throw InvalidArgument(fmt::format("[{}] an input is undefined", def.name));
  }
  const auto run = [&](std::span<const Tensor> given) {
    const bool draws = def.random && !attributes.has("random_id");
    const bool tf32 = becomes_tf32(def, given, attributes);
    if (!draws && !tf32) return checked(def, given, attributes);
    Attributes more = attributes;
    if (draws) more.set("random_id", RandomScope::next_id());
    if (tf32) more.set("tf32", true);
    return checked(def, given, more);
  };
  const std::optional<DType> wanted = wanted_dtype(def, inputs);
  if (!wanted || std::none_of(inputs.begin(), inputs.end(),
                              [&](const Tensor& t) { return differs(t, *wanted); })) {
    return run(inputs);
  }
  std::vector<Tensor> brought(inputs.begin(), inputs.end());
  for (Tensor& input : brought) {
    if (differs(input, *wanted)) input = cast(input, *wanted);
  }
  return run(brought);
}

Tensor call_one(const OpDef& def, std::initializer_list<Tensor> inputs,
                const Attributes& attributes) {
  return call(def, std::span<const Tensor>(inputs.begin(), inputs.size()), attributes).front();
}

}  // namespace plimsoll::ops

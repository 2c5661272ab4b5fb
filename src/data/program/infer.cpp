#include "data/program/infer.h"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/tensor/tensor.h>

namespace plimsoll::data {
namespace {

// Divisible by most numbers that shapes are divided by; their powers still fit in 63 bits.
constexpr std::int64_t kStandIn = 2520;
constexpr std::int64_t kOther = 5040;
/// Combinations of extents that are tried before the rule's refusal is believed.
constexpr int kMostTries = 20'000;

using Types = std::vector<TensorType>;

/// Extents for the unknown dimensions of all inputs, in order.
using Extents = std::vector<std::int64_t>;

Types filled(std::span<const TensorSpec> inputs, const Extents& extents) {
  Types types;
  std::size_t next = 0;
  for (const TensorSpec& input : inputs) {
    std::vector<std::int64_t> dims = *input.dims;
    for (std::int64_t& extent : dims) {
      if (extent == kAnyExtent) extent = extents[next++];
    }
    types.push_back({input.dtype, Shape(std::span<const std::int64_t>(dims))});
  }
  return types;
}

Types ask(const ops::OpDef& op, const Types& inputs, const ops::Attributes& attributes) {
  const ops::Attributes known = closed(op, attributes, inputs);
  return op.types(ops::OpInputs(op, inputs, known));
}

std::optional<Types> try_ask(const ops::OpDef& op, std::span<const TensorSpec> inputs,
                             const Extents& extents, const ops::Attributes& attributes) {
  try {
    return ask(op, filled(inputs, extents), attributes);
  } catch (const InvalidArgument&) {
    return std::nullopt;
  }
}

/// Numbers that an unknown extent may have to be: 1, the known extents, what a list of extents
/// among the attributes (a shape) has in all, and that over the known extents of an input.
Extents candidates(std::span<const TensorSpec> inputs, const ops::Attributes& attributes) {
  Extents found = {kStandIn, 1};
  const auto add = [&found](std::int64_t extent) {
    if (extent > 0 && std::ranges::find(found, extent) == found.end()) found.push_back(extent);
  };
  Extents products;
  for (const auto& [name, value] : attributes.entries()) {
    const auto* const list = std::get_if<std::vector<std::int64_t>>(&value);
    if (list == nullptr) continue;
    std::int64_t product = 1;
    for (const std::int64_t each : *list) {
      if (each > 0 && __builtin_mul_overflow(product, each, &product)) product = 0;
      if (product == 0) break;
    }
    products.push_back(product);
    add(product);
  }
  for (const TensorSpec& input : inputs) {
    std::int64_t known = 1;
    for (const std::int64_t extent : *input.dims) {
      if (extent == kAnyExtent || extent == 0) continue;
      add(extent);
      known *= extent;
    }
    for (const std::int64_t product : products) {
      if (product > 0 && known > 0 && product % known == 0) add(product / known);
    }
  }
  return found;
}

std::vector<TensorSpec> specs_of(const Types& types) {
  std::vector<TensorSpec> specs;
  for (const TensorType& type : types) specs.push_back(TensorSpec::of(type.dtype, type.shape));
  return specs;
}

/// What `extents` give, with everything unknown that other extents change.
std::optional<std::vector<TensorSpec>> specs_at(const ops::OpDef& op,
                                                std::span<const TensorSpec> inputs,
                                                const Extents& extents,
                                                const ops::Attributes& attributes) {
  const auto types = try_ask(op, inputs, extents, attributes);
  if (!types) return std::nullopt;
  std::vector<TensorSpec> specs = specs_of(*types);
  const auto loosen = [&](const Extents& others) {
    const auto varied = try_ask(op, inputs, others, attributes);
    if (!varied || varied->size() != specs.size()) return false;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      specs[i] = TensorSpec::common(specs[i], specs_of(*varied)[i]);
    }
    return true;
  };
  Extents others = extents;
  std::ranges::replace(others, kStandIn, kOther);
  if (others != extents && !loosen(others)) return std::nullopt;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == kStandIn) continue;
    others = extents;
    others[i] *= 2;
    loosen(others);
  }
  return specs;
}

std::string with_unknowns(std::string text) {
  const std::string stand_in = std::to_string(kStandIn);
  for (auto at = text.find(stand_in); at != std::string::npos; at = text.find(stand_in, at)) {
    text.replace(at, stand_in.size(), "?");
  }
  return text;
}

std::vector<TensorSpec> infer_ranked(const ops::OpDef& op, std::span<const TensorSpec> inputs,
                                     const ops::Attributes& attributes) {
  std::size_t unknown = 0;
  for (const TensorSpec& input : inputs) {
    unknown += static_cast<std::size_t>(std::ranges::count(*input.dims, kAnyExtent));
  }
  Extents extents(unknown, kStandIn);
  if (unknown == 0) return specs_of(ask(op, filled(inputs, extents), attributes));
  const Extents choices = candidates(inputs, attributes);
  std::vector<std::size_t> chosen(unknown, 0);
  for (int tries = 0; tries < kMostTries; ++tries) {
    for (std::size_t i = 0; i < unknown; ++i) extents[i] = choices[chosen[i]];
    if (auto specs = specs_at(op, inputs, extents, attributes)) return *specs;
    std::size_t digit = 0;
    while (digit < unknown && ++chosen[digit] == choices.size()) chosen[digit++] = 0;
    if (digit == unknown) break;
  }
  try {
    return specs_of(ask(op, filled(inputs, Extents(unknown, kStandIn)), attributes));
  } catch (const InvalidArgument& refused) {
    throw InvalidArgument(with_unknowns(refused.what()));
  }
}

void check_inputs(const ops::OpDef& op, std::span<const TensorSpec> inputs) {
  const int count = static_cast<int>(inputs.size());
  const int most = op.inputs + op.optional_inputs;
  if (count < op.inputs || (count > most && !op.variadic)) {
    throw InvalidArgument(fmt::format("[{}] takes {} inputs, not {}", op.name, op.inputs, count));
  }
  for (const TensorSpec& input : inputs) {
    if (input.dtype != DType::bytes) continue;
    throw InvalidArgument(
        fmt::format("[{}] does not work on byte strings; decode or parse them first", op.name));
  }
  if (count > 0 && !op.dtypes.has(inputs[0].dtype)) {
    throw InvalidArgument(fmt::format("[{}] is not defined for {}, but for {}; cast it", op.name,
                                      dtype_name(inputs[0].dtype), op.dtypes.to_string()));
  }
}

}  // namespace

std::vector<TensorSpec> infer_specs(const ops::OpDef& op, std::span<const TensorSpec> inputs,
                                    const ops::Attributes& attributes) {
  check_inputs(op, inputs);
  const auto unranked = [](const TensorSpec& spec) { return !spec.dims.has_value(); };
  if (std::ranges::none_of(inputs, unranked)) return infer_ranked(op, inputs, attributes);
  // Any rank that the rule accepts tells the dtypes.
  for (const std::size_t rank : {3U, 2U, 1U, 4U, 0U, 5U}) {
    std::vector<TensorSpec> ranked(inputs.begin(), inputs.end());
    for (TensorSpec& spec : ranked) {
      if (unranked(spec)) spec.dims = std::vector<std::int64_t>(rank, kAnyExtent);
    }
    try {
      std::vector<TensorSpec> specs = infer_ranked(op, ranked, attributes);
      for (TensorSpec& spec : specs) spec.dims = std::nullopt;
      return specs;
    } catch (const InvalidArgument&) {
      if (rank == 5) throw;
    }
  }
  return {};
}

bool is_open(const ops::OpDef& op, const ops::Attributes& attributes) {
  if (op.name == "reshape") {
    return std::ranges::find(attributes.integers("shape"), -1) !=
           attributes.integers("shape").end();
  }
  if (op.name != "slice") return false;
  const std::int64_t end = attributes.integer("end");
  return attributes.integer("begin") < 0 || end < 0 || end == Tensor::kToEnd;
}

ops::Attributes closed(const ops::OpDef& op, const ops::Attributes& attributes,
                       std::span<const TensorType> inputs) {
  if (!is_open(op, attributes)) return attributes;
  ops::Attributes result = attributes;
  const Shape& from = inputs.front().shape;
  if (op.name == "reshape") {
    std::vector<std::int64_t> dims = attributes.integers("shape");
    std::int64_t known = 1;
    for (const std::int64_t extent : dims) known *= extent == -1 ? 1 : extent;
    const std::int64_t rest = known == 0 ? 0 : from.elements() / known;
    std::ranges::replace(dims, -1, rest);
    result.set("shape", dims);
    return result;
  }
  const std::int64_t axis = attributes.integer("axis");
  if (axis < 0 || axis >= from.rank()) return attributes;  // the rule names it
  const std::int64_t extent = from[static_cast<int>(axis)];
  const auto from_front = [extent](std::int64_t position) {
    if (position == Tensor::kToEnd) return extent;
    return position < 0 ? position + extent : position;
  };
  result.set("begin", from_front(attributes.integer("begin")));
  result.set("end", from_front(attributes.integer("end")));
  return result;
}

}  // namespace plimsoll::data

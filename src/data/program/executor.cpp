#include "data/program/executor.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/serial_scope.h>
#include <plimsoll/memory/out_of_memory.h>

#include "data/program/steps.h"

namespace plimsoll::data {
namespace {

constexpr int kNever = std::numeric_limits<int>::max();

bool admits(const TensorSpec& spec, const Value& value) {
  if (spec.dtype != value.dtype()) return false;
  if (!spec.dims) return true;
  if (value.is_scalar()) return spec.dims->empty();
  const Shape& shape = value.tensor().shape();
  return static_cast<std::size_t>(shape.rank()) == spec.dims->size() &&
         std::equal(shape.begin(), shape.end(), spec.dims->begin(),
                    [](auto has, auto may) { return may == kAnyExtent || may == has; });
}

/// Of an instruction whose text it has.
class InstructionError final : public DataError {
 public:
  using DataError::DataError;
};

/// A constant as a component.
Value value_of(const ProgramConstant& constant, MapContext& context) {
  if (constant.dtype == DType::bytes) {
    const std::vector<std::string_view> texts(constant.strings.begin(), constant.strings.end());
    return Value(context.texts(texts, constant.shape));
  }
  if (constant.shape.rank() == 0) return Value::from_bits(constant.dtype, constant.data.data());
  Tensor tensor = context.empty(constant.shape, constant.dtype);
  if (!constant.data.empty()) {
    std::memcpy(tensor.raw_mutable_data(), constant.data.data(), constant.data.size());
  }
  return Value(std::move(tensor));
}

}  // namespace

void within(const std::string& instruction, const std::function<void()>& work) {
  try {
    work();
  } catch (const OutOfMemory&) {
    throw;
  } catch (const InstructionError&) {
    throw;
  } catch (const Error& error) {
    throw InstructionError(fmt::format("{}, in {}", error.what(), instruction));
  }
}

std::vector<TensorSpec> specs_of_values(const Program::Parts& parts) {
  std::vector<TensorSpec> specs = parts.input.components;
  for (const Instruction& instruction : parts.instructions) {
    specs.insert(specs.end(), instruction.outputs.begin(), instruction.outputs.end());
  }
  return specs;
}

Tensor dense_copy(const Tensor& tensor, MapContext& context) {
  Tensor copy = context.empty(tensor.shape(), tensor.dtype());
  const std::int64_t count = tensor.elements();
  if (count == 0) return copy;
  const std::size_t size = dtype_size(tensor.dtype());
  const auto* const from = static_cast<const std::byte*>(tensor.raw_data());
  auto* to = static_cast<std::byte*>(copy.raw_mutable_data());
  const Shape& shape = tensor.shape();
  const auto strides = tensor.strides();
  std::vector<std::int64_t> at(static_cast<std::size_t>(shape.rank()), 0);
  for (std::int64_t i = 0; i < count; ++i, to += size) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < at.size(); ++d) offset += at[d] * strides[d];
    std::memcpy(to, from + offset * static_cast<std::int64_t>(size), size);
    for (int d = shape.rank() - 1; d >= 0; --d) {
      if (++at[static_cast<std::size_t>(d)] < shape[d]) break;
      at[static_cast<std::size_t>(d)] = 0;
    }
  }
  return copy;
}

Executor::Executor(const Program::Parts& parts)
    : parts_(parts), read_as_dense_(parts.input.components.size(), false) {
  const std::vector<TensorSpec> specs = specs_of_values(parts);
  std::vector<std::uint32_t> random_indices;
  std::uint32_t next_random = 0;
  for (const Instruction& each : parts.instructions) {
    const ProgramOp* const op = find_program_op(each.op);
    random_indices.push_back(next_random);
    if (op != nullptr && op->random) ++next_random;
  }
  const std::vector<LoadChain> chains = find_load_chains(parts);
  for (std::size_t i = 0; i < parts.instructions.size(); ++i) {
    const auto chain = std::ranges::find_if(chains, [i](const LoadChain& each) {
      return std::ranges::find(each.instructions, i) != each.instructions.end();
    });
    if (chain != chains.end()) {
      // Where the last of them stands, everything that they read is there.
      if (chain->instructions.back() == i) {
        steps_.push_back(make_load_step(*chain, parts, random_indices));
      }
      continue;
    }
    const Instruction& instruction = parts.instructions[i];
    if (const ProgramOp* const op = find_program_op(instruction.op)) {
      steps_.push_back(make_op_step(instruction, *op, random_indices[i], parts));
    } else {
      steps_.push_back(make_tensor_step(instruction, parts, specs));
    }
  }
  output_uses_.assign(specs.size(), 0);
  for (const Operand& output : parts.outputs) {
    if (!output.is_constant) ++output_uses_[static_cast<std::size_t>(output.index)];
  }
  for (const StepPtr& step : steps_) {
    for (const Operand& input : step->inputs) {
      const auto at = static_cast<std::size_t>(input.index);
      if (!input.is_constant && at < read_as_dense_.size()) read_as_dense_[at] = true;
    }
  }
  find_last_uses();
  find_places();
}

void Executor::find_last_uses() {
  std::vector<int> last(output_uses_.size(), -1);
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    for (const Operand& input : steps_[s]->inputs) {
      if (!input.is_constant) last[static_cast<std::size_t>(input.index)] = static_cast<int>(s);
    }
  }
  for (std::size_t v = 0; v < last.size(); ++v) {
    if (output_uses_[v] == 0 && last[v] >= 0) {
      steps_[static_cast<std::size_t>(last[v])]->last_uses.push_back(static_cast<int>(v));
    }
  }
}

/// Which values share memory with another (views), which ones can be written over, and which go
/// straight into the memory of the result.
void Executor::find_places() {
  const std::size_t inputs = parts_.input.components.size();
  const std::size_t count = output_uses_.size();
  const std::vector<TensorSpec> specs = specs_of_values(parts_);
  std::vector<std::size_t> root(count);
  std::vector<int> last(count, -1);
  for (std::size_t v = 0; v < count; ++v) root[v] = v;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = *steps_[s];
    for (const Operand& input : step.inputs) {
      if (!input.is_constant) {
        last[root[static_cast<std::size_t>(input.index)]] = static_cast<int>(s);
      }
    }
    if (step.view && !step.inputs.front().is_constant) {
      root[static_cast<std::size_t>(step.first_output)] =
          root[static_cast<std::size_t>(step.inputs.front().index)];
    }
  }
  for (std::size_t v = 0; v < count; ++v) {
    if (output_uses_[v] > 0) last[root[v]] = kNever;
  }

  std::vector<int> place(count, -1);
  for (std::size_t k = 0; k < parts_.outputs.size(); ++k) {
    const Operand& output = parts_.outputs[k];
    const auto v = static_cast<std::size_t>(output.index);
    const TensorSpec& spec = parts_.output.components[k];
    if (output.is_constant || v < inputs || place[v] >= 0) continue;
    if (spec.is_fixed() && spec.dtype != DType::bytes && !spec.dims->empty()) {
      place[v] = static_cast<int>(k);
    }
  }
  const auto owned = [&](const Operand& operand) {
    return !operand.is_constant && root[static_cast<std::size_t>(operand.index)] >= inputs;
  };
  for (std::size_t s = steps_.size(); s-- > 0;) {
    Step& step = *steps_[s];
    const auto result = static_cast<std::size_t>(step.first_output);
    for (const int i : step.may_write_over) {
      const Operand& operand = step.inputs[static_cast<std::size_t>(i)];
      const auto v = static_cast<std::size_t>(operand.index);
      if (!owned(operand) || last[root[v]] != static_cast<int>(s) || specs[v] != specs[result]) {
        continue;
      }
      step.over_input = i;
      break;
    }
    const int from = step.view ? 0 : step.over_input;
    if (from >= 0 && place[result] >= 0 && owned(step.inputs[static_cast<std::size_t>(from)])) {
      const auto v = static_cast<std::size_t>(step.inputs[static_cast<std::size_t>(from)].index);
      const bool fixed = specs[v].is_fixed() && !specs[v].dims->empty();
      if (fixed && place[v] < 0) place[v] = place[result];
    }
    for (int i = 0; i < step.output_count; ++i) {
      step.places[static_cast<std::size_t>(i)] = place[result + static_cast<std::size_t>(i)];
    }
  }
}

void Executor::require_fits(const Element& element) const {
  const auto& components = parts_.input.components;
  bool fits = element.size() == components.size();
  for (std::size_t i = 0; fits && i < components.size(); ++i) {
    fits = admits(components[i], element[i]);
  }
  if (fits) return;
  throw DataError(fmt::format("the program was made for elements {}, and this is {}",
                              parts_.input.to_string(), element.to_string()));
}

Element Executor::run(const Element& element, MapContext& context) const {
  require_fits(element);
  Frame frame{context, parts_.constants, std::vector<Value>(output_uses_.size())};
  for (std::size_t i = 0; i < element.size(); ++i) {
    const Value& value = element[i];
    const bool gaps = read_as_dense_[i] && !value.is_scalar() && value.dtype() != DType::bytes &&
                      !value.tensor().is_contiguous();
    frame.values[i] = gaps ? Value(dense_copy(value.tensor(), context)) : value;
  }
  // The pipeline's threads are as many as there is work for.
  const SerialScope one_thread;
  for (const StepPtr& step : steps_) {
    within(step->text, [&] { step->run(frame); });
    for (const int value : step->last_uses) frame.values[static_cast<std::size_t>(value)] = Value();
  }
  Element result;
  for (const Operand& output : parts_.outputs) {
    const auto at = static_cast<std::size_t>(output.index);
    result.push_back(output.is_constant ? value_of(parts_.constants[at], context)
                                        : frame.values[at]);
  }
  result.id = element.id;
  return result;
}

}  // namespace plimsoll::data

#include <plimsoll/data/symbolic.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>
#include <plimsoll/data/program_ops.h>
#include <plimsoll/ops/op_def.h>

#include "data/program/infer.h"
#include "data/program/op.h"
#include "data/program/parts.h"
#include "data/program/recorder.h"

namespace plimsoll::data {
namespace {

/// How many letters differ, more or less: to name what was probably meant.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
    }
  }
  return row.back();
}

[[noreturn]] void no_such_op(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ProgramOp* const op : all_program_ops()) names.push_back(op->name);
  for (const ops::OpDef* const op : ops::all_ops()) names.push_back(op->name);
  std::ranges::stable_sort(names, {}, [name](std::string_view each) {
    // A part of a name is nearer than any other word.
    return each.find(name) == std::string_view::npos ? distance(name, each) + 1 : 1;
  });
  names.resize(std::min<std::size_t>(names.size(), 3));
  throw InvalidArgument(fmt::format("[Program] there is no op \"{}\"; did you mean {}?", name,
                                    fmt::join(names, ", ")));
}

}  // namespace

std::vector<TensorSpec> infer_call(std::string_view name, std::span<const TensorSpec> inputs,
                                   const ops::Attributes& attributes) {
  try {
    if (const ProgramOp* const op = find_program_op(name)) {
      const int count = static_cast<int>(inputs.size());
      if (count < op->inputs || (count > op->inputs && !op->variadic)) {
        throw InvalidArgument(
            fmt::format("[{}] takes {} inputs, not {}", op->name, op->inputs, count));
      }
      return op->specs(SpecInputs(*op, inputs, attributes));
    }
    const ops::OpDef* const op = ops::find_op(name);
    if (op == nullptr) no_such_op(name);
    if (op->random || op->writes != 0) {
      throw InvalidArgument(fmt::format(
          "[{}] cannot be part of a program; {}", name,
          op->random
              ? "use a random op of programs, such as random_flip, whose draws belong to the "
                "element"
              : "it writes into its inputs"));
    }
    return infer_specs(*op, inputs, attributes);
  } catch (const InternalError& error) {  // an attribute is missing or of another kind
    throw InvalidArgument(fmt::format("[{}] {}", name, error.what()));
  }
}

ProgramConstant constant_of(const Value& value) {
  ProgramConstant constant{.dtype = value.dtype(), .shape = value.shape()};
  if (value.is_scalar()) {
    const auto* const bits = reinterpret_cast<const std::byte*>(&value.bits());
    constant.data.assign(bits, bits + dtype_size(value.dtype()));
  } else if (value.dtype() == DType::bytes) {
    for (std::int64_t i = 0; i < value.tensor().elements(); ++i) {
      constant.strings.emplace_back(value.tensor().string_at(i));
    }
  } else {
    const Tensor tensor = value.tensor().contiguous();
    const auto* const data = static_cast<const std::byte*>(tensor.raw_data());
    constant.data.assign(data, data + tensor.nbytes());
  }
  return constant;
}

ProgramConstant constant_of(std::span<const float> numbers) {
  ProgramConstant constant{.shape = {static_cast<std::int64_t>(numbers.size())}};
  const auto bytes = std::as_bytes(numbers);
  constant.data.assign(bytes.begin(), bytes.end());
  return constant;
}

Symbolic::Recorder::Recorder(ElementSpec spec) : input(std::move(spec)), specs(input.components) {}

Operand Symbolic::Recorder::add(ProgramConstant constant) {
  const auto found = std::ranges::find(constants, constant);
  const auto index = static_cast<int>(found - constants.begin());
  if (found == constants.end()) constants.push_back(std::move(constant));
  return {.is_constant = true, .index = index};
}

TensorSpec Symbolic::Recorder::spec_of(const Operand& operand) const {
  const auto at = static_cast<std::size_t>(operand.index);
  if (!operand.is_constant) return specs[at];
  return TensorSpec::of(constants[at].dtype, constants[at].shape);
}

std::string Symbolic::Recorder::describe(const Operand& operand) const {
  if (operand.is_constant) return fmt::format("the constant {}", text_of(operand, constants));
  if (operand.index < static_cast<int>(input.components.size())) {
    const auto at = static_cast<std::size_t>(operand.index);
    const std::string name = input.names.empty() ? "" : fmt::format(" \"{}\"", input.names[at]);
    return fmt::format("%{} (component{} of the element)", operand.index, name);
  }
  for (const Instruction& each : instructions) {
    const int count = static_cast<int>(each.outputs.size());
    if (operand.index >= each.first_output && operand.index < each.first_output + count) {
      return fmt::format("%{} (the result of {})", operand.index, each.op);
    }
  }
  return fmt::format("%{}", operand.index);
}

std::vector<Operand> Symbolic::Recorder::call(std::string_view op,
                                              std::span<const Operand> operands,
                                              const ops::Attributes& attributes) {
  std::vector<TensorSpec> types;
  for (const Operand& operand : operands) types.push_back(spec_of(operand));
  Instruction instruction;
  instruction.op = op;
  instruction.inputs.assign(operands.begin(), operands.end());
  instruction.attributes = attributes;
  instruction.first_output = static_cast<int>(specs.size());
  instruction.outputs = infer_call(op, types, attributes);
  std::vector<Operand> results;
  for (const TensorSpec& spec : instruction.outputs) {
    results.push_back({.index = static_cast<int>(specs.size())});
    specs.push_back(spec);
  }
  instructions.push_back(std::move(instruction));
  return results;
}

const TensorSpec& Symbolic::spec() const {
  if (!operand_.is_constant) return recorder_->specs[static_cast<std::size_t>(operand_.index)];
  return recorder_->constant_specs.emplace(operand_.index, recorder_->spec_of(operand_))
      .first->second;
}

int Symbolic::rank() const {
  if (!spec().dims) {
    throw InvalidArgument(
        fmt::format("[map] {} has a rank that is not known while the function is "
                    "traced; reshape it first",
                    describe()));
  }
  return static_cast<int>(spec().dims->size());
}

std::int64_t Symbolic::dim(int dim) const {
  const int at = dim < 0 ? dim + rank() : dim;
  if (at < 0 || at >= rank()) {
    throw InvalidArgument(
        fmt::format("[map] {} is {} and has no dimension {}", describe(), spec().to_string(), dim));
  }
  const std::int64_t extent = (*spec().dims)[static_cast<std::size_t>(at)];
  if (extent == kAnyExtent) {
    throw InvalidArgument(fmt::format(
        "[map] {} is {}: extent {} is known only when an element arrives; use an op that does not "
        "need it, or resize or reshape first",
        describe(), spec().to_string(), dim));
  }
  return extent;
}

std::string Symbolic::describe() const { return recorder_->describe(operand_); }

void Symbolic::no_data(std::string_view what) const {
  throw InvalidArgument(fmt::format(
      "[map] {} has no data while the function is traced, and {} needs it; use ops on it (where() "
      "for a choice), or map a function that is called for each element",
      describe(), what));
}

const Symbolic& Symbolics::operator[](std::size_t index) const {
  if (index >= values_.size()) {
    throw InvalidArgument(
        fmt::format("[map] no component {} in an element of {}", index, values_.size()));
  }
  return values_[index].value;
}

const Symbolic& Symbolics::operator[](std::string_view name) const {
  for (const Named& each : values_) {
    if (each.name == name) return each.value;
  }
  std::vector<std::string_view> names;
  for (const Named& each : values_) names.push_back(each.name);
  throw InvalidArgument(
      fmt::format("[map] no component \"{}\" in the element; it has {}", name,
                  names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

ProgramBuilder::ProgramBuilder(ElementSpec input) {
  if (!input.known) {
    throw InvalidArgument(
        "[Program] what the elements are is not known before it runs; give the function before it "
        "an output spec");
  }
  recorder_ = std::make_shared<Symbolic::Recorder>(std::move(input));
}

Symbolics ProgramBuilder::inputs() const {
  Symbolics result;
  for (std::size_t i = 0; i < recorder_->input.components.size(); ++i) {
    const Symbolic value(recorder_, {.index = static_cast<int>(i)});
    result.push_back({recorder_->input.names.empty() ? "" : recorder_->input.names[i], value});
  }
  return result;
}

Symbolic ProgramBuilder::constant(const Value& value) {
  return {recorder_, recorder_->add(constant_of(value))};
}

Symbolic ProgramBuilder::constant(const std::string& text) {
  return {recorder_, recorder_->add({.dtype = DType::bytes, .strings = {text}})};
}

Symbolic ProgramBuilder::constant(std::span<const float> numbers) {
  return {recorder_, recorder_->add(constant_of(numbers))};
}

std::vector<Symbolic> ProgramBuilder::call(std::string_view op, std::span<const Symbolic> inputs,
                                           const ops::Attributes& attributes) {
  return record(recorder_, op, inputs, attributes);
}

Symbolic ProgramBuilder::call_one(std::string_view op, std::initializer_list<Symbolic> inputs,
                                  const ops::Attributes& attributes) {
  return call(op, std::span<const Symbolic>(inputs.begin(), inputs.size()), attributes).front();
}

std::vector<Symbolic> record(const std::shared_ptr<Symbolic::Recorder>& recorder,
                             std::string_view op, std::span<const Symbolic> inputs,
                             const ops::Attributes& attributes) {
  std::vector<Operand> operands;
  for (const Symbolic& input : inputs) {
    if (input.recorder() != recorder) {
      throw InvalidArgument(
          fmt::format("[{}] {} belongs to another program; values cannot be kept from one trace to "
                      "the next",
                      op, input.describe()));
    }
    operands.push_back(input.operand());
  }
  std::vector<Symbolic> results;
  for (const Operand& result : recorder->call(op, operands, attributes)) {
    results.emplace_back(recorder, result);
  }
  return results;
}

std::vector<Symbolic> call_like(const Symbolic& like, std::string_view op,
                                std::span<const Symbolic> inputs,
                                const ops::Attributes& attributes) {
  return record(like.recorder(), op, inputs, attributes);
}

void detail::require_components(const Symbolics& element, std::size_t wanted) {
  if (element.size() == wanted) return;
  throw InvalidArgument(fmt::format("[map] the function takes {} components, and elements have {}",
                                    wanted, element.size()));
}

Program trace_program(const ElementSpec& input,
                      const std::function<Symbolics(Symbolics elements)>& function) {
  const ProgramBuilder builder(input);
  return builder.finish(function(builder.inputs()));
}

}  // namespace plimsoll::data

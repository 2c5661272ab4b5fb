// A function of one's own in the middle of a program.
#include <cstring>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/data/program_function.h>

#include "data/program/op.h"

namespace plimsoll::data::program_ops {
namespace {

std::vector<TensorSpec> call_function_specs(const SpecInputs& inputs) {
  return find_program_function(inputs.attributes().text("function"))->outputs;
}

Value value_of(const ProgramInput& input, MapContext& context) {
  if (input.value() != nullptr) return *input.value();
  if (input.dtype() == DType::bytes) {
    std::vector<std::string_view> texts;
    for (std::int64_t i = 0; i < input.elements(); ++i) texts.push_back(input.text(i));
    return Value(context.texts(texts, input.shape()));
  }
  if (input.shape().rank() == 0) return Value::from_bits(input.dtype(), input.data());
  Tensor made = context.empty(input.shape(), input.dtype());
  if (made.nbytes() > 0) std::memcpy(made.raw_mutable_data(), input.data(), made.nbytes());
  return Value(std::move(made));
}

/// The result in the pipeline's memory, or in the element's place.
void give(ProgramCall& call, const Value& result, int i) {
  if (result.is_scalar()) {
    call.give(result, i);
  } else if (result.shape().rank() == 0 && result.dtype() != DType::bytes) {
    call.give(Value::from_bits(result.dtype(), result.tensor().raw_data()), i);
  } else if (result.dtype() == DType::bytes) {
    std::vector<std::string_view> texts;
    const Tensor& strings = result.tensor();
    for (std::int64_t k = 0; k < strings.elements(); ++k) texts.push_back(strings.string_at(k));
    call.give(Value(call.context().texts(texts, strings.shape())), i);
  } else {
    const Tensor dense = result.tensor().contiguous();
    Tensor to = call.output(dense.shape(), dense.dtype(), i);
    if (dense.nbytes() > 0) std::memcpy(to.raw_mutable_data(), dense.raw_data(), dense.nbytes());
  }
}

void run_call_function(ProgramCall& call) {
  const auto function = find_program_function(call.attributes().text("function"));
  std::vector<Value> inputs;
  for (int i = 0; i < call.count(); ++i) inputs.push_back(value_of(call.input(i), call.context()));
  const std::vector<Value> results = function->run(inputs, call.context());
  if (results.size() != function->outputs.size()) {
    throw DataError(fmt::format("[{}] it gave {} results, and {} were declared", function->name,
                                results.size(), function->outputs.size()));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TensorSpec given = TensorSpec::of(results[i]);
    if (!function->outputs[i].admits(given)) {
      throw DataError(fmt::format("[{}] result {} is {}, and {} was declared", function->name, i,
                                  given.to_string(), function->outputs[i].to_string()));
    }
    give(call, results[i], static_cast<int>(i));
  }
}

}  // namespace

std::span<const ProgramOp> call_function() {
  static constexpr ProgramOp kOps[] = {
      {.name = "call_function",
       .summary = "a function of one's own",
       .inputs = 0,
       .variadic = true,
       .specs = call_function_specs,
       .run = run_call_function},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops

#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/data/symbolic.h>

namespace plimsoll::data {

/// A program that is being written.
class Symbolic::Recorder {
 public:
  explicit Recorder(ElementSpec spec);

  /// The constant, or an equal one that is there already.
  Operand add(ProgramConstant constant);
  std::vector<Operand> call(std::string_view op, std::span<const Operand> operands,
                            const ops::Attributes& attributes);
  TensorSpec spec_of(const Operand& operand) const;
  std::string describe(const Operand& operand) const;

  const ElementSpec input;
  std::vector<ProgramConstant> constants;
  std::vector<Instruction> instructions;
  std::vector<TensorSpec> specs;  ///< of all values
  std::map<int, TensorSpec> constant_specs;
};

/// What an op of this name gives; InvalidArgument as ProgramBuilder::call.
std::vector<TensorSpec> infer_call(std::string_view name, std::span<const TensorSpec> inputs,
                                   const ops::Attributes& attributes);

ProgramConstant constant_of(const Value& value);
ProgramConstant constant_of(std::span<const float> numbers);

/// Adds an instruction; all `inputs` must belong to `recorder`.
std::vector<Symbolic> record(const std::shared_ptr<Symbolic::Recorder>& recorder,
                             std::string_view op, std::span<const Symbolic> inputs,
                             const ops::Attributes& attributes);

}  // namespace plimsoll::data

#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <plimsoll/data/element.h>
#include <plimsoll/data/map_function.h>
#include <plimsoll/data/spec.h>
#include <plimsoll/data/symbolic.h>

namespace plimsoll::data {

/// A function of one's own as an instruction of a program ("call_function"), for a step that no op
/// does. It runs on any thread, several at a time, and may run twice for one element.
///
///   const pd::RegisteredFunction median(
///       {.name = "median", .outputs = {{pm::DType::f32}}, .run = ...});
///   dataset.map([&](pm::Symbolic x) {
///     return pm::Symbolics{x - pd::call_function(median, {x})[0]};
///   });
struct ProgramFunction {
  /// Part of the program's text and signature: the same function should have the same name in every
  /// process.
  std::string name = "function";
  /// What it gives, one spec per result; kAnyExtent or no dims where that differs.
  std::vector<TensorSpec> outputs;
  /// Results of these specs; others are a DataError. Numbers are copied into the pipeline's memory.
  std::function<std::vector<Value>(std::span<const Value> inputs, MapContext& context)> run;
};

/// Lets programs call a function while it lives; those made with it fail once it is gone.
/// Thread-safe.
class RegisteredFunction {
 public:
  explicit RegisteredFunction(ProgramFunction function);
  RegisteredFunction(const RegisteredFunction&) = delete;
  RegisteredFunction& operator=(const RegisteredFunction&) = delete;
  ~RegisteredFunction();

  /// The attribute "function" of the instruction that calls it: its name, with a number where
  /// another function of that name is there.
  const std::string& key() const { return key_; }

 private:
  std::string key_;
};

/// What the function gives for these, in the program that they belong to: one for each of its
/// outputs. InvalidArgument without inputs.
std::vector<Symbolic> call_function(const RegisteredFunction& function,
                                    const std::vector<Symbolic>& inputs);

/// The function of that key. InvalidArgument if it is gone.
std::shared_ptr<const ProgramFunction> find_program_function(const std::string& key);

}  // namespace plimsoll::data

#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <plimsoll/data/element.h>
#include <plimsoll/data/map_function.h>
#include <plimsoll/data/spec.h>

namespace plimsoll::data {

/// A function of one's own as an instruction of a program ("call_function"): the escape for a step
/// in the middle of a program that no op does. It runs on any thread, several at a time, and may
/// run twice for one element.
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

/// The function of that key. InvalidArgument if it is gone.
std::shared_ptr<const ProgramFunction> find_program_function(const std::string& key);

}  // namespace plimsoll::data

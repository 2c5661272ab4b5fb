#pragma once

#include <functional>
#include <memory>
#include <string>

#include <plimsoll/memory/tag.h>
#include <plimsoll/tensor/tensor.h>

namespace plimsoll {

class Variable;

struct VariableOptions {
  /// How messages, plans and files name it.
  std::string name = "variable";
  /// Tapes follow trainable variables by themselves. Variables that are not floating never are.
  bool trainable = true;
  Tag tag = Tag::parameters;
  /// For a variable that is declared without data: its first values, on a device.
  std::function<Tensor(const Variable& variable, const Device& device)> initial = nullptr;
};

/// A tensor that persists and changes: weights, running statistics, an optimizer's state.
///
///   pm::Variable w(pm::zeros({3, 1}), {.name = "w"});
///   pm::GradientTape tape;
///   pm::Tensor loss = pm::nn::mean_squared_error(pm::matmul(x, w), y);
///   optimizer.apply(tape.gradient(loss, {w}));
///
/// A shared handle: copies are the same variable. Reading it tells the dispatcher in force, so that
/// a tape follows it and a trace binds it as state under its name; nobody watches or binds it by
/// hand. Its data belongs to it, and not to a plan that was made with it. Not thread-safe while it
/// is written.
class Variable {
 public:
  /// Undefined: stands for no variable.
  Variable() = default;
  /// With `value` as its data. InvalidArgument if that has none.
  explicit Variable(Tensor value, const VariableOptions& options = {});
  /// Without data: it can be traced and planned, and takes no memory. It gets its data from
  /// `options.initial` when it is first read eagerly.
  static Variable declare(const TensorType& type, const VariableOptions& options);

  bool defined() const { return state_ != nullptr; }
  const std::string& name() const;
  void set_name(std::string name) const;
  TensorType type() const { return tensor().type(); }
  Tag tag() const;
  bool trainable() const;
  void set_trainable(bool trainable) const;
  bool has_data() const { return !tensor().is_symbolic(); }

  /// Its tensor for reading: what ops take. Tells the dispatcher in force.
  const Tensor& value() const;
  operator const Tensor&() const { return value(); }  // NOLINT: ops take variables as tensors
  /// The same without telling anybody: for looking at it, saving it, comparing.
  const Tensor& tensor() const;

  /// Writes `value`, of the same type, in place.
  void assign(const Tensor& value) const;
  /// Takes `tensor` as its data. InvalidArgument if it is of another type or has none.
  void set_tensor(Tensor tensor) const;
  /// Gives it its first values on `device`, if it has no data. Throws OutOfMemory and is then as
  /// before, InvalidArgument if nothing says what they are.
  void materialize(const Device& device) const;
  /// Lets its data go; it is declared again.
  void release() const;

  /// True for handles of the same variable.
  bool operator==(const Variable& other) const { return state_ == other.state_; }
  /// The same for all handles of a variable, and for no other one: to look it up by.
  const void* id() const { return state_.get(); }

 private:
  struct Declared;
  struct State;
  explicit Variable(std::shared_ptr<State> state) : state_(std::move(state)) {}
  State& state() const;

  std::shared_ptr<State> state_;
};

}  // namespace plimsoll

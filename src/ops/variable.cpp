#include <plimsoll/ops/variable.h>

#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/switches.h>
#include <plimsoll/ops/update.h>
#include <plimsoll/ops/variable_reader.h>

namespace plimsoll {

/// Stands in the tensor until there is data.
struct Variable::Declared final : Symbol {
  Declared(std::string n, Tag t) : name(std::move(n)), tag(t) {}
  std::string describe() const override {
    switch (tag) {
      case Tag::parameters:
        return "the parameter " + name;
      case Tag::optimizer:
        return "the optimizer's " + name;
      default:
        return "the variable " + name;
    }
  }
  std::string name;
  Tag tag;
};

struct Variable::State {
  std::shared_ptr<Declared> declared;
  Tensor tensor;
  bool trainable;
  decltype(VariableOptions::initial) initial;
};

Variable::Variable(Tensor value, const VariableOptions& options) {
  if (!value.defined() || value.is_symbolic()) {
    throw InvalidArgument(fmt::format("[Variable] {} starts from {}; give it a tensor with data",
                                      options.name,
                                      value.defined() ? value.symbol()->describe() : "nothing"));
  }
  state_ = std::make_shared<State>(State{std::make_shared<Declared>(options.name, options.tag),
                                         std::move(value), options.trainable, options.initial});
}

Variable Variable::declare(const TensorType& type, const VariableOptions& options) {
  auto declared = std::make_shared<Declared>(options.name, options.tag);
  Tensor tensor = Tensor::symbolic(type, declared);
  return Variable(std::make_shared<State>(
      State{std::move(declared), std::move(tensor), options.trainable, options.initial}));
}

Variable::State& Variable::state() const {
  if (state_ == nullptr) throw InvalidArgument("[Variable] it is undefined");
  return *state_;
}

const std::string& Variable::name() const { return state().declared->name; }
void Variable::set_name(std::string name) const { state().declared->name = std::move(name); }
Tag Variable::tag() const { return state().declared->tag; }
bool Variable::trainable() const {
  if (ops::SwitchReads* reads = ops::SwitchReads::current()) {
    reads->note({state_, &state().trainable});
  }
  return state().trainable && is_floating(state_->tensor.dtype());
}
void Variable::set_trainable(bool trainable) const { state().trainable = trainable; }

const Tensor& Variable::tensor() const { return state().tensor; }

const Tensor& Variable::value() const {
  const Tensor& current = state().tensor;
  if (ops::VariableReader* reader = ops::VariableReader::current()) reader->read(*this);
  return current;
}

ops::VariableReader* ops::VariableReader::current() {
  return dynamic_cast<VariableReader*>(&Dispatcher::current());
}

void Variable::assign(const Tensor& value) const { ops::assign(this->value(), value); }

void Variable::set_tensor(Tensor tensor) const {
  if (!tensor.defined() || tensor.is_symbolic() || tensor.type() != type()) {
    throw InvalidArgument(fmt::format("[Variable] {} is {}; {} cannot be its data", name(),
                                      type().to_string(),
                                      !tensor.defined()      ? "an undefined tensor"
                                      : tensor.is_symbolic() ? tensor.symbol()->describe()
                                                             : tensor.type().to_string()));
  }
  state_->tensor = std::move(tensor);
}

void Variable::materialize(const Device& device) const {
  if (has_data()) return;
  if (!state_->initial) {
    throw InvalidArgument(
        fmt::format("[Variable] {} has no data and nothing says what its first values are; use "
                    "set_tensor()",
                    name()));
  }
  set_tensor(state_->initial(*this, device));
}

void Variable::release() const {
  if (has_data()) state_->tensor = Tensor::symbolic(type(), state_->declared);
}

}  // namespace plimsoll

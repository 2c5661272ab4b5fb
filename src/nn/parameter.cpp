#include <plimsoll/nn/parameter.h>

#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/seed.h>

namespace plimsoll::nn {
Parameter::Parameter(std::string name, const TensorType& type, const Init& init, bool buffer)
    : Variable(Variable::declare(
          type, {.name = std::move(name),
                 .trainable = !buffer,
                 .initial =
                     [init](const Variable& variable, const Device& device) {
                       const TensorType of = variable.type();
                       Tensor tensor =
                           Tensor::empty(of.shape, of.dtype, device,
                                         {.tag = Tag::parameters, .label = variable.name()});
                       fill(tensor, init, variable.name(), ops::default_seed());
                       return tensor;
                     }})),
      init_(init),
      buffer_(buffer) {}

Parameter::Parameter(const Variable& variable)
    : Variable(variable), buffer_(!variable.trainable()) {}

const Init& Parameter::init() const {
  if (init_) return *init_;
  throw InvalidArgument(
      fmt::format("[Parameter] {} was a variable with values, which have been released; load them, "
                  "or declare a parameter with first values of its own",
                  name()));
}

}  // namespace plimsoll::nn

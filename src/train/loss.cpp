#include <plimsoll/train/loss.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/losses.h>

namespace plimsoll::train {
namespace {

Loss::One by_name(const std::string& name) {
  if (name == "cross_entropy") {
    return [](const Tensor& logits, const Tensor& labels) {
      return nn::cross_entropy(logits, labels);
    };
  }
  if (name == "mean_squared_error") return nn::mean_squared_error;
  if (name == "mean_absolute_error") return nn::mean_absolute_error;
  if (name == "binary_cross_entropy") return nn::binary_cross_entropy;
  throw InvalidArgument(
      fmt::format("[Loss] there is no loss '{}'; there are cross_entropy, mean_squared_error, "
                  "mean_absolute_error and binary_cross_entropy, or give a function",
                  name));
}

}  // namespace

Loss::Loss(std::string name, One function)
    : name_(std::move(name)),
      function_(
          [one = std::move(function)](const nn::Tensors& outputs, const nn::Tensors& targets) {
            if (outputs.size() != 1 || targets.size() != 1) {
              throw InvalidArgument(fmt::format(
                  "[Loss] it compares one output with one target; the model has {} outputs "
                  "and the data {} targets. Give a function of both lists",
                  outputs.size(), targets.size()));
            }
            return one(outputs.front(), targets.front());
          }) {}

Loss::Loss(const std::string& name) : Loss(name, by_name(name)) {}

Tensor Loss::of(const nn::Model& model, const nn::Tensors& inputs, const nn::Tensors& targets,
                nn::Tensors* outputs) const {
  if (is_own()) return model.loss_all(inputs, targets);
  nn::Tensors made = model(inputs);
  const Tensor value = function_(made, targets);
  if (value.rank() != 0 || !is_floating(value.dtype())) {
    throw InvalidArgument(
        fmt::format("[Loss] {} gives {}; it must be one floating number, such as a mean", name_,
                    value.type().to_string()));
  }
  if (outputs != nullptr) *outputs = std::move(made);
  return value;
}

}  // namespace plimsoll::train

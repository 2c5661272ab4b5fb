#include <plimsoll/train/loss.h>

#include <array>
#include <string_view>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/losses.h>

namespace plimsoll::train {
namespace {

struct Entry {
  std::string_view name;
  Tensor (*loss)(const Tensor& prediction, const Tensor& target);
};

constexpr std::array kLosses = {
    Entry{"cross_entropy",
          [](const Tensor& x, const Tensor& y) { return nn::cross_entropy(x, y); }},
    Entry{"cross_entropy_dense",
          [](const Tensor& x, const Tensor& y) { return nn::cross_entropy_dense(x, y); }},
    Entry{"mean_squared_error",
          [](const Tensor& x, const Tensor& y) { return nn::mean_squared_error(x, y); }},
    Entry{"mean_absolute_error",
          [](const Tensor& x, const Tensor& y) { return nn::mean_absolute_error(x, y); }},
    Entry{"binary_cross_entropy",
          [](const Tensor& x, const Tensor& y) { return nn::binary_cross_entropy(x, y); }},
    Entry{"huber", [](const Tensor& x, const Tensor& y) { return nn::huber(x, y); }},
    Entry{"smooth_l1", [](const Tensor& x, const Tensor& y) { return nn::smooth_l1(x, y); }},
    Entry{"log_cosh", [](const Tensor& x, const Tensor& y) { return nn::log_cosh(x, y); }},
    Entry{"poisson", [](const Tensor& x, const Tensor& y) { return nn::poisson(x, y); }},
    Entry{"hinge", [](const Tensor& x, const Tensor& y) { return nn::hinge(x, y); }},
    Entry{"squared_hinge",
          [](const Tensor& x, const Tensor& y) { return nn::squared_hinge(x, y); }},
    Entry{"focal", [](const Tensor& x, const Tensor& y) { return nn::focal(x, y); }},
    Entry{"binary_focal", [](const Tensor& x, const Tensor& y) { return nn::binary_focal(x, y); }},
    Entry{"kl_divergence",
          [](const Tensor& x, const Tensor& y) { return nn::kl_divergence(x, y); }},
    Entry{"ctc", [](const Tensor& x, const Tensor& y) { return nn::ctc_loss(x, y); }},
    Entry{"cosine_distance",
          [](const Tensor& x, const Tensor& y) { return nn::cosine_distance(x, y); }},
};

Loss::One loss_by_name(const std::string& name) {
  std::string names;
  for (const Entry& entry : kLosses) {
    if (entry.name == name) return entry.loss;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
  }
  throw InvalidArgument(
      fmt::format("[Loss] there is no loss '{}'; there are {}, or give a function", name, names));
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

Loss::Loss(const std::string& name) : Loss(name, loss_by_name(name)) {}

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

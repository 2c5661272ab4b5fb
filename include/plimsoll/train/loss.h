#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <utility>

#include <plimsoll/nn/model.h>

namespace plimsoll::train {

/// What a trainer minimises: nothing said, the model's own; a name; or a function, for one output
/// and target or for several. Each gives an f32 scalar.
///
///   {.loss = "cross_entropy"}
///   {.loss = [](const pm::Tensor& y, const pm::Tensor& target) { return pm::mean(...); }}
class Loss {
 public:
  using One = std::function<Tensor(const Tensor& prediction, const Tensor& target)>;
  using Several = std::function<Tensor(const nn::Tensors& outputs, const nn::Tensors& targets)>;

  Loss() = default;
  /// "cross_entropy", "mean_squared_error", "mean_absolute_error", "binary_cross_entropy", "huber",
  /// "log_cosh", "poisson", "hinge", "squared_hinge", "focal", "binary_focal", "kl_divergence",
  /// "ctc", "cosine_distance", each with its defaults; InvalidArgument for another, naming those.
  Loss(const std::string& name);                       // NOLINT: {.loss = "cross_entropy"}
  Loss(const char* name) : Loss(std::string(name)) {}  // NOLINT: as above
  template <typename F>
  requires std::is_invocable_r_v<Tensor, const F&, const Tensor&, const Tensor&> Loss(
      F function)  // NOLINT: as above
      : Loss("function", One(std::move(function))) {}
  template <typename F>
  requires std::is_invocable_r_v<Tensor, const F&, const nn::Tensors&, const nn::Tensors&> Loss(
      F function)  // NOLINT: as above
      : name_("function"), function_(std::move(function)) {}

  /// True if it is the model's own.
  bool is_own() const { return function_ == nullptr; }
  /// "cross_entropy"; "function"; "own".
  const std::string& name() const { return name_; }

  /// Of a batch. `outputs`, if given, are what the model gave; it stays empty where the model's own
  /// loss does not tell.
  Tensor of(const nn::Model& model, const nn::Tensors& inputs, const nn::Tensors& targets,
            nn::Tensors* outputs = nullptr) const;

 private:
  Loss(std::string name, One function);

  std::string name_ = "own";
  Several function_ = nullptr;
};

}  // namespace plimsoll::train

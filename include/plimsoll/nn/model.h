#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/nn/module.h>

namespace plimsoll::nn {

/// Any module as a value: what trainers take and factories return.
///
///   pm::nn::Model model = pm::nn::resnet50(10);
///   model = Net();
class Model final : public Module {
 public:
  template <std::derived_from<Module> M>
  requires(!std::same_as<M, Model>) Model(const M& module)  // NOLINT: any module is one
      : Model(std::shared_ptr<const Module>(std::make_shared<M>(module))) {}
  /// InvalidArgument for null.
  explicit Model(std::shared_ptr<const Module> module);
  Model(const Model&) = default;  // moving copies
  Model& operator=(const Model&) = default;

  Tensor forward(const Tensor& x) const override { return module_->forward(x); }
  Tensors forward_all(const Tensors& inputs) const override { return module_->forward_all(inputs); }
  Tensor loss(const Tensor& input, const Tensor& target) const override {
    return module_->loss(input, target);
  }
  Tensor loss_all(const Tensors& inputs, const Tensors& targets) const override {
    return module_->loss_all(inputs, targets);
  }
  std::vector<TensorType> batch_types(std::int64_t n) const override {
    return module_->batch_types(n);
  }

  /// Of those, for models with one input. InvalidArgument if the model does not say.
  TensorType input_type(std::int64_t n) const;
  TensorType target_type(std::int64_t n) const;

 private:
  std::shared_ptr<const Module> module_;
};

/// A module that knows what it is fed, gives logits [..., classes], and minimises their mean
/// cross-entropy with the labels.
class Classifier : public Module {
 public:
  /// Pictures or token ids, and labels, for a batch of `n`.
  virtual TensorType input_type(std::int64_t n) const = 0;
  virtual TensorType target_type(std::int64_t n) const = 0;
  std::vector<TensorType> batch_types(std::int64_t n) const override {
    return {input_type(n), target_type(n)};
  }
  Tensor loss(const Tensor& input, const Tensor& target) const override;
};

/// What can be said about any model; 0 means the model's own default.
struct ModelOptions {
  std::int64_t classes = 0;   ///< of the vocabulary, for language models
  std::int64_t channels = 0;  ///< of pictures
  std::int64_t size = 0;      ///< height and width of pictures; tokens of a language model
  /// Compute in the order of pictures that GPUs want, where the model can: channels last. The
  /// weights are the same.
  bool channels_last = false;
};

/// What a name stands for.
struct ModelInfo {
  std::string_view name;
  std::string_view summary;
};

/// Every model there is by name.
std::vector<ModelInfo> list_models();

/// One of them, without data. Throws InvalidArgument for a name that is none, naming those there
/// are, and for options that the model cannot have.
Model make_model(std::string_view name, const ModelOptions& options = {});

}  // namespace plimsoll::nn

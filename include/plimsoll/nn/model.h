#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/nn/module.h>

namespace plimsoll::nn {

/// A module that can be trained as it is: it knows what it is fed and what it minimises.
class Model : public Module {
 public:
  /// What a step is fed, for a batch of `n`: pictures or token ids, and labels.
  virtual TensorType input_type(std::int64_t n) const = 0;
  virtual TensorType target_type(std::int64_t n) const = 0;

  /// What training minimises, an f32 scalar: by default the mean cross-entropy of forward()'s
  /// logits [..., classes] with the labels.
  virtual Tensor loss(const Tensor& input, const Tensor& target) const;
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
std::unique_ptr<Model> make_model(std::string_view name, const ModelOptions& options = {});

}  // namespace plimsoll::nn

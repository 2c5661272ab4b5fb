#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <plimsoll/nn/language_models.h>
#include <plimsoll/nn/model.h>
#include <plimsoll/nn/recommendation_models.h>
#include <plimsoll/ops/softmax.h>

#include "random_batch.h"

// The texts and choices of the zoo: models by name at the sizes that are measured, and batches that
// look like theirs. bench/zoo_torch.py has the same for PyTorch.

namespace plimsoll::bench {

inline nn::DlrmOptions dlrm_size(bool tiny) {
  if (!tiny) return {};
  return {.rows = 50, .features = 8, .bag = 4, .bottom = {16}, .top = {16}};
}

/// nullopt if it is none of them. A tiny one is for trying it out.
inline std::optional<nn::Model> text_model(const std::string& name, bool tiny) {
  if (name == "bert") {
    if (!tiny) return nn::bert({.context = 384, .dropout = 0});
    return nn::bert({.vocabulary = 100,
                     .context = 16,
                     .features = 32,
                     .hidden = 64,
                     .layers = 2,
                     .heads = 4,
                     .dropout = 0});
  }
  if (name == "llama") {
    if (!tiny) return nn::llama();
    return nn::llama({.vocabulary = 100,
                      .context = 16,
                      .features = 48,
                      .hidden = 64,
                      .layers = 2,
                      .heads = 6,
                      .key_heads = 2});
  }
  if (name == "lstm_lm") {
    if (!tiny) return nn::lstm_lm({.context = 256, .dropout = 0});
    return nn::lstm_lm(
        {.vocabulary = 100, .context = 16, .features = 32, .hidden = 32, .dropout = 0});
  }
  if (name == "dlrm") return nn::dlrm(dlrm_size(tiny));
  return std::nullopt;
}

/// Ids of sentences that are half to wholly as long as the batch, the rest being padding (0), and
/// as labels 15% of them.
inline std::pair<Tensor, Tensor> masked_batch(const TensorType& type, std::int64_t below,
                                              const Device& device) {
  std::mt19937 random(1);
  const std::int64_t tokens = type.shape[1];
  std::uniform_int_distribution<std::int64_t> word(1, below - 1);
  std::uniform_int_distribution<std::int64_t> length(tokens / 2, tokens);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> labels;
  for (std::int64_t row = 0; row < type.shape[0]; ++row) {
    const std::int64_t filled = length(random);
    for (std::int64_t i = 0; i < tokens; ++i) {
      ids.push_back(i < filled ? word(random) : 0);
      labels.push_back(i < filled && share(random) < 0.15 ? word(random) : ops::kIgnoreLabel);
    }
  }
  return {Tensor::from_values(std::span<const std::int64_t>(ids), type.shape, device),
          Tensor::from_values(std::span<const std::int64_t>(labels), type.shape, device)};
}

/// Counts, bags of 1 to as many ids as there is room for, and labels 0 or 1.
inline std::pair<Tensor, Tensor> choice_batch(const TensorType& type, const nn::DlrmOptions& size,
                                              const Device& device) {
  std::mt19937 random(1);
  std::uniform_int_distribution<std::int64_t> count(0, 100);
  std::uniform_int_distribution<std::int64_t> id(1, size.rows - 1);
  std::uniform_int_distribution<std::int64_t> filled(1, size.bag);
  std::vector<std::int64_t> values;
  std::vector<std::int64_t> labels;
  for (std::int64_t row = 0; row < type.shape[0]; ++row) {
    for (std::int64_t i = 0; i < size.dense; ++i) values.push_back(count(random));
    for (std::int64_t table = 0; table < size.tables; ++table) {
      const std::int64_t here = filled(random);
      for (std::int64_t i = 0; i < size.bag; ++i) values.push_back(i < here ? id(random) : 0);
    }
    labels.push_back(count(random) % 2);
  }
  return {Tensor::from_values(std::span<const std::int64_t>(values), type.shape, device),
          Tensor::from_values(std::span<const std::int64_t>(labels), Shape{type.shape[0]}, device)};
}

/// A batch for any model of the benchmark.
inline std::pair<Tensor, Tensor> batch_for(const std::string& name, const nn::Model& model,
                                           std::int64_t batch, std::int64_t classes, bool tiny,
                                           const Device& device) {
  const TensorType type = model.input_type(batch);
  if (name == "bert") return masked_batch(type, classes, device);
  if (name == "dlrm") return choice_batch(type, dlrm_size(tiny), device);
  return {random_batch(type, classes, 1, device),
          random_batch(model.target_type(batch), classes, 2, device)};
}

}  // namespace plimsoll::bench

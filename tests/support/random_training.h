#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <plimsoll/data/dataset.h>
#include <plimsoll/nn/model.h>
#include <plimsoll/train/trainer.h>

namespace plimsoll::test {

/// A small model of any kind, and how to train it, drawn from a seed.
struct RandomTraining {
  explicit RandomTraining(std::uint64_t seed);

  nn::Model model() const;
  train::Trainer trainer() const;
  /// (input, target) as the model wants them, not batched.
  data::Dataset data(std::int64_t count) const;

  std::string kind;
  std::int64_t batch = 1;
  std::string optimizer;
  train::TrainerOptions options;
  Bytes budget = 0;
  std::string text;  ///< for messages
};

/// Elements for any model whose labels lie below `classes`.
data::Dataset any_data(const nn::Model& model, std::int64_t classes, std::int64_t count);

/// Runs it as it is; or where it is refused checks that the smallest budget it names runs and that
/// the largest batch it names is planned. Records failures of the test. Returns whether it ran at
/// once. With `offload`, so much of the host's memory may be used, and losses are those of a step
/// that has room for everything.
bool check_random_training(std::uint64_t seed, Bytes offload = 0);

/// The smallest budget that a refusal names for a batch of that size, validated in batches of
/// `validation` (0: not).
Bytes smallest_budget(train::Trainer trainer, std::int64_t batch, std::int64_t validation = 0);

/// Runs one step, and an evaluation, of the plan for the smallest budget in the checking executor:
/// no overlap, no late read, no stray write. Checks that loss, weights and metrics have the bits of
/// an unchecked step in ample memory. Returns whether the plan computes anything again.
bool check_every_task(const std::function<train::Trainer()>& trainer, const data::Dataset& data,
                      std::int64_t batch);

/// Trains within `budgets` budgets, from one in which nothing is saved to the smallest that is
/// named. Checks that losses are the same to the bit and peaks as planned.
void check_budgets(const std::function<train::Trainer()>& trainer, const data::Dataset& data,
                   std::int64_t batch, std::int64_t steps, int budgets);

}  // namespace plimsoll::test

#pragma once

#include <span>
#include <string>
#include <vector>

#include <plimsoll/nn/model.h>
#include <plimsoll/optim/optimizer.h>
#include <plimsoll/train/loss_scale.h>
#include <plimsoll/train/training_plan.h>

namespace plimsoll::train {

/// Names under which graphs know what a trainer adds.
inline constexpr const char* kAveragePrefix = "moving_average.";
inline constexpr const char* kGradientPrefix = "gradient.";
inline constexpr const char* kOptimizerPrefix = "optimizer.";
inline constexpr const char* kLossScalePrefix = "loss_scale.";

/// What persists from step to step besides the model.
struct PersistentState {
  const nn::Model& model;
  const optim::Optimizer& optimizer;
  const LossScale* loss_scale = nullptr;                 ///< null: none
  const std::vector<optim::State>* average = nullptr;    ///< null: none
  const std::vector<optim::State>* gradients = nullptr;  ///< sums over micro-batches; null: none
};

/// Tensors of a block, and blocks, are at multiples of it.
inline constexpr Bytes kAlignment = 256;

/// All of it in one block per tag.
std::vector<PackedBlock> pack(const PersistentState& state);

/// Takes tensors of these names out of the blocks, and packs them apart.
PackedBlock take_away(std::vector<PackedBlock>& blocks, const std::vector<std::string>& names);

/// What an arena with such pages charges its budget when it gives these blocks, in this order and
/// first of all.
Bytes pages_for(std::span<const Bytes> blocks, Bytes page_size);

/// The blocks that a training allocates, in order.
std::vector<Bytes> allocations(const std::vector<PackedBlock>& blocks, Bytes outputs,
                               Bytes workspace, Bytes range);

/// The largest range that fits beside the others into `room`; 0 if none does.
Bytes largest_range(const std::vector<PackedBlock>& blocks, Bytes outputs, Bytes workspace,
                    Bytes page_size, Bytes room);

}  // namespace plimsoll::train

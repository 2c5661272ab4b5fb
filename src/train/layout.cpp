#include "train/layout.h"

#include <set>
#include <string>

#include <plimsoll/memory/arena.h>
#include <plimsoll/memory/dry_pages.h>

namespace plimsoll::train {
namespace {

/// That are tried; 256 GiB in pages of 64 KiB.
constexpr Bytes kMostPages = Bytes{1} << 22;

void add_packed(PackedBlock& block, const std::string& name, const TensorType& type) {
  block.tensors.push_back({name, type, block.bytes});
  block.bytes += align_up(type.bytes(), kAlignment);
}

void add_packed(PackedBlock& block, const std::string& prefix,
                const std::vector<optim::State>* states) {
  if (states == nullptr) return;
  for (const optim::State& s : *states) add_packed(block, prefix + s.name(), s.type());
}

}  // namespace

PackedBlock take_away(std::vector<PackedBlock>& blocks, const std::vector<std::string>& names) {
  PackedBlock away{.tag = Tag::optimizer, .label = "offload"};
  const std::set<std::string> wanted(names.begin(), names.end());
  if (wanted.empty()) return away;
  for (PackedBlock& block : blocks) {
    PackedBlock left{.tag = block.tag, .label = block.label};
    for (const PackedTensor& tensor : block.tensors) {
      add_packed(wanted.count(tensor.name) != 0 ? away : left, tensor.name, tensor.type);
    }
    block = std::move(left);
  }
  std::erase_if(blocks, [](const PackedBlock& block) { return block.bytes == 0; });
  return away;
}

std::vector<PackedBlock> pack(const PersistentState& state) {
  PackedBlock parameters{.tag = Tag::parameters, .label = "model"};
  for (const nn::Parameter& p : state.model.parameters())
    add_packed(parameters, p.name(), p.type());
  for (const nn::Parameter& p : state.model.buffers()) add_packed(parameters, p.name(), p.type());
  add_packed(parameters, kAveragePrefix, state.average);
  PackedBlock optimizer{.tag = Tag::optimizer, .label = std::string(state.optimizer.name())};
  add_packed(optimizer, kOptimizerPrefix, &state.optimizer.state());
  if (state.loss_scale != nullptr) {
    add_packed(optimizer, kLossScalePrefix, &state.loss_scale->state());
  }
  PackedBlock gradients{.tag = Tag::gradients, .label = "sums"};
  add_packed(gradients, kGradientPrefix, state.gradients);
  std::vector<PackedBlock> blocks;
  for (PackedBlock* block : {&parameters, &optimizer, &gradients}) {
    if (block->bytes != 0) blocks.push_back(std::move(*block));
  }
  return blocks;
}

Bytes pages_for(std::span<const Bytes> blocks, Bytes page_size) {
  Bytes all = 0;
  for (const Bytes bytes : blocks) all += bytes;
  // More than any machine has: an arena of so many pages would take long to try, and a bound does.
  if (all / page_size > kMostPages) {
    return align_up(all, page_size) + 2 * static_cast<Bytes>(blocks.size()) * page_size;
  }
  const Budget budget = Budget::root("plan");
  Arena arena(make_dry_pages(page_size), budget,
              {.address_space = align_up(4 * all + 64 * page_size, page_size)});
  const Account account = budget.account(Tag::user, "plan");
  std::vector<Block> held;
  for (const Bytes bytes : blocks) held.push_back(arena.allocate(bytes, account));
  return budget.used();
}

std::vector<Bytes> allocations(const std::vector<PackedBlock>& blocks, Bytes outputs,
                               Bytes workspace, Bytes range) {
  std::vector<Bytes> all;
  for (const PackedBlock& block : blocks) all.push_back(block.bytes);
  all.push_back(outputs);
  all.push_back(workspace);
  // Last, so that a smaller one gives pages back.
  all.push_back(range);
  return all;
}

Bytes largest_range(const std::vector<PackedBlock>& blocks, Bytes outputs, Bytes workspace,
                    Bytes page_size, Bytes room) {
  const auto fits = [&](Bytes range) {
    return pages_for(allocations(blocks, outputs, workspace, range), page_size) <= room;
  };
  Bytes fixed = outputs + workspace;
  for (const PackedBlock& block : blocks) fixed += block.bytes;
  if (room <= fixed || !fits(kAlignment)) return 0;
  Bytes low = 1;  // in units of the alignment
  Bytes high = (room - fixed) / kAlignment + 1;
  while (high - low > 1) {
    const Bytes middle = low + (high - low) / 2;
    (fits(middle * kAlignment) ? low : high) = middle;
  }
  return low * kAlignment;
}

}  // namespace plimsoll::train

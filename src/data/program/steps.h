#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "data/program/executor.h"

namespace plimsoll::data {

/// What is known of every value of a program.
std::vector<TensorSpec> specs_of_values(const Program::Parts& parts);

/// An instruction that is an op on tensors: its CPU kernel, on the calling thread.
StepPtr make_tensor_step(const Instruction& instruction, const Program::Parts& parts,
                         const std::vector<TensorSpec>& specs);

/// An instruction that is a program op; `random_index` counts the random ones of its program.
StepPtr make_op_step(const Instruction& instruction, const ProgramOp& op,
                     std::uint32_t random_index, const Program::Parts& parts);

/// Instructions that are done in one pass over the rows of a picture that is being decoded.
struct LoadChain {
  std::vector<std::size_t> instructions;  ///< in order
  /// Those of them that image::load() knows nothing of: they are done element by element to its
  /// rows. What comes between or after them moves elements only.
  std::vector<std::size_t> by_element = {};

  bool loads(std::size_t instruction) const {
    return std::ranges::find(by_element, instruction) == by_element.end();
  }
};
/// All there are; no instruction is in two.
std::vector<LoadChain> find_load_chains(const Program::Parts& parts);
StepPtr make_load_step(const LoadChain& chain, const Program::Parts& parts,
                       const std::vector<std::uint32_t>& random_indices);

}  // namespace plimsoll::data

#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <plimsoll/tensor/tensor.h>

namespace plimsoll {

/// What one step of a scan gives.
struct ScanStep {
  std::vector<Tensor> states;   ///< as many as came in, of the same types
  std::vector<Tensor> ys = {};  ///< what else is wanted of every step
};

/// One step: from the states before it, this step's slice of every x, and what all steps share.
using ScanFunction =
    std::function<ScanStep(const std::vector<Tensor>& states, const std::vector<Tensor>& xs,
                           const std::vector<Tensor>& shared)>;

struct ScanOptions {
  bool reverse = false;     ///< from the last slice to the first
  std::int64_t steps = -1;  ///< where there are no xs to say so
};

struct ScanResult {
  std::vector<Tensor> last;    ///< the states after the last step that ran
  std::vector<Tensor> states;  ///< [steps, ...]: those after every step, at the step's place
  std::vector<Tensor> ys;      ///< [steps, ...]
};

/// A loop over the first dimension of `xs` as one op: `f` is traced once, and its ops run for each
/// step. A graph has one node for it whatever the number of steps, and so has its gradient.
///
///   // A running sum, of which no more than one row is ever added at a time.
///   auto sums = pm::scan([](auto& states, auto& xs, auto&) -> pm::ScanStep {
///     return {.states = {states[0] + xs[0]}};
///   }, {first}, {rows});
///
/// With xs of no elements, or 0 steps, the last states are the first ones.
///
/// `f` may read variables and use tensors that have data. A tensor of a trace that is under way
/// must be handed in with `shared`. What it computes is the same for every step: it sees types and
/// no values.
///
/// Memory: the states and ys of all steps are kept, as they are results. What a step computes on
/// the way is in scratch memory that all steps use in turn, and is computed again from the states
/// when gradients are taken; what is among the ys is not, so that a step can give what is dear to
/// compute as one of them. The gradient by something shared is one product over all steps where it
/// is a product of matrices in each; else it is added up step by step, from the last that ran to
/// the first, in f32 where it is narrower. All of that follows from types alone: no budget and no
/// number of threads changes a bit.
///
/// Throws InvalidArgument: if the xs differ in length, a state comes back with another type, `f`
/// draws random numbers (draw them before, and hand them in as xs) or writes into something, or
/// there are more than 31 tensors in all. It has no second derivatives. On a GPU, what a step reads
/// of an x and what it adds to a result must be multiples of 16 bytes.
ScanResult scan(const ScanFunction& f, const std::vector<Tensor>& states,
                const std::vector<Tensor>& xs, const std::vector<Tensor>& shared = {},
                const ScanOptions& options = {});

}  // namespace plimsoll

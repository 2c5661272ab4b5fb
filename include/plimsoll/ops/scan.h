#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <plimsoll/ops/kernel.h>
#include <plimsoll/ops/op_def.h>

// What the op scan is made of: its body as data, and its kernel, which is the same for every
// backend. What users call is in function/scan.h.

namespace plimsoll::ops {

/// What a scan does in each step, as data. Values are numbered: first what comes in (states, then
/// delayed states, xs and what is shared), then the outputs of the nodes in order.
struct ScanBody {
  struct Node {
    const OpDef* op = nullptr;
    Attributes attributes;
    std::vector<int> inputs;
    std::vector<int> outputs;
  };
  int states = 0;
  /// States of a scan that went the other way, as they were before its step: each is two inputs of
  /// the op, the first state and those after every step.
  int delayed = 0;
  int xs = 0;
  int shared = 0;
  std::vector<TensorType> types;  ///< of all values
  std::vector<Node> nodes;
  /// The states after the step, then ys. All are outputs of nodes that are no views, and distinct.
  std::vector<int> results;

  int inputs() const { return states + delayed + xs + shared; }
  int op_inputs() const { return inputs() + delayed; }
  int ys() const { return static_cast<int>(results.size()) - states; }
  const TensorType& type(int value) const { return types[static_cast<std::size_t>(value)]; }
  const TensorType& result_type(int i) const { return type(results[static_cast<std::size_t>(i)]); }
};

/// A body without copies of results that have memory of their own: each of its results is an output
/// of a copy, by the op pad.
ScanBody without_copies(ScanBody body);

/// Its number, for an attribute: the same for the same body. Bodies stay for the program's life;
/// one that is there already takes no more memory. Thread-safe.
std::int64_t number_of(ScanBody body);
/// The body of that number; InternalError if there is none.
const ScanBody& body_of(std::int64_t number);

/// Scratch bytes of scan on a GPU: a step's values, and what the most demanding op of a step may
/// use. `recorded` as the op's attribute: for each state whether all steps are kept.
Bytes scan_gpu_workspace(const ScanBody& body, const std::vector<std::int64_t>& recorded);

/// The kernel: the backend's kernels of the body's ops, step by step. `alignment`: what tensors of
/// its kernels must begin at a multiple of; slices that would not are an InvalidArgument.
std::shared_ptr<const KernelState> prepare_scan(const OpInputs& inputs, const char* backend,
                                                Bytes alignment);
void run_scan(const KernelContext& k);

}  // namespace plimsoll::ops

#pragma once

#include <map>
#include <vector>

#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/scan.h>

namespace plimsoll::scanning {

/// A scan's body while it is traced: tensors of its tracer for what comes in.
class BodyTrace {
 public:
  std::vector<Tensor> states, delayed, xs, shared;

  /// One more of a kind.
  Tensor add(std::vector<Tensor>& kind, const TensorType& type);
  graph::Tracer& tracer() { return tracer_; }

  /// `results` are the states after a step, then ys. What the trace took up by itself is added to
  /// what is shared, and to `captured` as values of the trace. Throws InvalidArgument for ops that
  /// draw random numbers or write.
  ops::ScanBody finish(std::vector<Tensor> results, std::vector<graph::ValueId>& captured);
  /// What the finished body calls `tensor`; -1 if it leads to no result.
  int number_of(const Tensor& tensor) const;

 private:
  graph::Tracer tracer_;
  std::map<graph::ValueId, int> numbers_;
  int count_ = 0;
};

}  // namespace plimsoll::scanning

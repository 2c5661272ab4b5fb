#pragma once

#include <functional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <plimsoll/graph/graph.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/variable_reader.h>

namespace plimsoll::graph {

/// Records ops as a graph instead of running them: put it in force with a DispatchScope and run
/// the model's code. Tensors it gives out have no data.
///
/// Variables that are read become persistent values under their names: parameters if they are
/// trained, state otherwise. Any other tensor with data that an op takes is a constant of the
/// graph, under the label of its memory. Views of what the trace knows (Tensor::reshape, slice and
/// the others) are ops of the graph, and copies of its values are the values themselves.
///
///   Tracer tracer;
///   Tensor x = tracer.input("images", {DType::f32, {128, 1, 28, 28}});
///   {
///     ops::DispatchScope scope(tracer);
///     tracer.output(model(x));
///   }
///   Graph graph = tracer.finish();
class Tracer final : public ops::Dispatcher, public ops::VariableReader, public ViewListener {
 public:
  Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer() override;

  /// A value that is fed for each step.
  Tensor input(std::string_view name, const TensorType& type);
  /// From now on `tensor`, with data or without, stands for a persistent value of the graph.
  /// Binding it again does nothing.
  void bind(const Tensor& tensor, Role role, Tag tag, std::string_view name);
  /// `tensor` must be there at the end.
  void output(const Tensor& tensor);

  std::vector<Tensor> call(const ops::OpCall& call) override;
  void read(const Variable& variable) override;
  bool records() const override { return true; }
  void before_run(std::function<void(StreamId)> hook) override {
    hooks_.push_back(std::move(hook));
  }

  Tensor on_view(const Tensor& tensor, const ViewOf& view) override;
  bool computes(const Tensor& tensor) const override;
  /// Throws InvalidArgument for a copy of a parameter or state with data, which would be a
  /// constant.
  void on_copy(const Tensor& from, const Tensor& to) override;

  /// The variables that were read, with the values they were bound as.
  const std::vector<std::pair<ValueId, Variable>>& variables() const { return variables_; }
  /// What must be called before each run.
  const std::vector<std::function<void(StreamId)>>& hooks() const { return hooks_; }

  /// The value that a tensor stands for now (after writes, the new one); kNone if none.
  ValueId find(const Tensor& tensor) const;

  /// What `tensor` was cast from, if it is a 16-bit float's value in a wider dtype: the same
  /// number. Else `tensor` itself.
  Tensor before_widening(const Tensor& tensor);

  /// The graph so far, without what leads nowhere. The tracer stays as it is.
  Graph finish() const;

 private:
  struct Traced;
  ValueId value_of(const Tensor& tensor, const ops::OpCall& call);
  Tensor tensor_for(ValueId value);

  Graph graph_;
  std::unordered_map<std::uint64_t, ValueId> bound_;  ///< by tensor id
  std::vector<std::vector<NodeId>> readers_;          ///< of each value
  std::vector<std::pair<ValueId, Variable>> variables_;
  std::vector<std::function<void(StreamId)>> hooks_;
};

}  // namespace plimsoll::graph

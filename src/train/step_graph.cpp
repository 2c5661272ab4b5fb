#include "train/step_graph.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <plimsoll/graph/fused_norms.h>
#include <plimsoll/graph/layout.h>
#include <plimsoll/graph/row_updates.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/ops/tf32.h>
#include <plimsoll/ops/update.h>

namespace plimsoll::train {
namespace {

using graph::Role;
using graph::Tracer;

/// Gives a call that was made before its results of then: a loss and the logits it is made of can
/// be asked for one after the other.
class CommonCalls final : public ops::Dispatcher, public ops::VariableReader, public ViewListener {
 public:
  explicit CommonCalls(Tracer& tracer) : tracer_(tracer) {}

  std::vector<Tensor> call(const ops::OpCall& call) override {
    if (call.def.writes != 0 || call.def.random) {
      ++made_;
      return tracer_.call(call);
    }
    std::string key = fmt::format("{} {}", call.def.name, call.attributes.to_string());
    for (const Tensor& input : call.inputs) {
      const graph::ValueId id = tracer_.find(input);
      key += id == graph::kNone ? fmt::format(" #{}", input.id()) : fmt::format(" {}", id);
    }
    const auto known = calls_.find(key);
    if (known != calls_.end()) return known->second;
    ++made_;
    return calls_.emplace(std::move(key), tracer_.call(call)).first->second;
  }

  void read(const Variable& variable) override { tracer_.read(variable); }
  bool records() const override { return true; }
  Tensor on_view(const Tensor& tensor, const ViewOf& view) override {
    return tracer_.on_view(tensor, view);
  }
  bool computes(const Tensor& tensor) const override { return tracer_.computes(tensor); }
  void on_copy(const Tensor& from, const Tensor& to) override { tracer_.on_copy(from, to); }

  std::int64_t made() const { return made_; }

 private:
  Tracer& tracer_;
  std::map<std::string, std::vector<Tensor>> calls_;
  std::int64_t made_ = 0;
};

/// Notes the logits that a loss compares with the target.
class FindLogits final : public ops::Dispatcher, public ops::VariableReader, public ViewListener {
 public:
  FindLogits(Tracer& tracer, const Tensor& target) : tracer_(tracer), target_(target) {}

  std::vector<Tensor> call(const ops::OpCall& call) override {
    if (call.def.compares_logits && call.inputs.size() == 2 &&
        tracer_.find(call.inputs[1]) == tracer_.find(target_) &&
        call.inputs[0].rank() == target_.rank() + 1) {
      found_ = call.inputs[0];
    }
    return tracer_.call(call);
  }
  void read(const Variable& variable) override { tracer_.read(variable); }
  bool records() const override { return true; }
  Tensor on_view(const Tensor& tensor, const ViewOf& view) override {
    return tracer_.on_view(tensor, view);
  }
  bool computes(const Tensor& tensor) const override { return tracer_.computes(tensor); }
  void on_copy(const Tensor& from, const Tensor& to) override { tracer_.on_copy(from, to); }
  /// Undefined if there were none.
  const Tensor& found() const { return found_; }

 private:
  Tracer& tracer_;
  const Tensor& target_;
  Tensor found_;
};

/// Inputs of the trace for these types: "input", or "input 0", "input 1".
nn::Tensors inputs_of(Tracer& tracer, const std::string& name,
                      const std::vector<TensorType>& types) {
  nn::Tensors all;
  for (std::size_t i = 0; i < types.size(); ++i) {
    all.push_back(tracer.input(types.size() == 1 ? name : fmt::format("{} {}", name, i), types[i]));
  }
  return all;
}

/// True for logits [..., classes] of labels [...].
bool are_logits_of(const Tensor& logits, const Tensor& target) {
  const int rank = target.rank();
  bool rows = logits.rank() == rank + 1 && !is_floating(target.dtype());
  for (int d = 0; rows && d < rank; ++d) rows = logits.dim(d) == target.dim(d);
  return rows;
}

void bind_states(Tracer& tracer, const std::vector<optim::State>* states, Tag tag,
                 const char* prefix) {
  if (states == nullptr) return;
  for (const optim::State& s : *states) {
    tracer.bind(s.tensor(), Role::state, tag, prefix + s.name());
  }
}

std::shared_ptr<const graph::Graph> finished(const Tracer& tracer, bool channels_last) {
  auto graph = std::make_shared<graph::Graph>(graph::with_row_updates(tracer.finish()));
  if (channels_last) *graph = graph::with_fused_norms(graph::with_fast_layouts(*graph));
  graph->verify();
  return graph;
}

void clip(std::vector<Tensor>& gradients, const StepRules& rules) {
  if (rules.clip_value > 0) {
    for (Tensor& g : gradients) {
      if (g.defined()) g = ops::clip(g, -rules.clip_value, rules.clip_value);
    }
  }
  if (rules.clip_norm <= 0) return;
  Tensor squares;
  for (const Tensor& g : gradients) {
    if (!g.defined()) continue;
    const Tensor sum = ops::sum(ops::square(g));
    squares = squares.defined() ? ops::add(squares, sum) : sum;
  }
  if (!squares.defined()) return;
  const Tensor norm = ops::shift(ops::sqrt(squares), 1e-6);
  const Tensor factor = ops::clip(ops::scale(ops::reciprocal(norm), rules.clip_norm), 0, 1);
  for (Tensor& g : gradients) {
    if (g.defined()) g = ops::mul(g, factor);
  }
}

/// Where a model's own loss tells no predictions: of those metrics, only this one can be had.
bool gives_accuracy(const std::vector<Metric>& metrics) {
  return metrics.empty() || std::ranges::find(metrics, "accuracy", &Metric::name) != metrics.end();
}

/// The sums of each metric, divided by the batch's size: whoever streams them counts each as often
/// as the batch has elements.
void add_metrics(const std::vector<Metric>& metrics, const Tensor& prediction, const Tensor& target,
                 std::int64_t size, nn::Tensors& outputs, std::vector<std::string>& names) {
  for (const Metric& metric : metrics) {
    outputs.push_back(ops::scale(metric.sums(prediction, target), 1.0 / static_cast<double>(size)));
    names.push_back(metric.name());
  }
}

}  // namespace

JudgedGraph trace_step(const Minimised& what, optim::Optimizer& optimizer, LossScale* loss_scale,
                       const std::vector<optim::State>* average,
                       const std::vector<optim::State>* gradients, const StepRules& rules,
                       const Batch& batch, StepPart part, std::int64_t parts) {
  Tracer tracer;
  const nn::Tensors inputs = inputs_of(tracer, "input", batch.inputs);
  const nn::Tensors targets = inputs_of(tracer, "target", batch.targets);
  bind(tracer, what.model);
  bind(tracer, optimizer);
  if (loss_scale != nullptr) bind(tracer, *loss_scale);
  bind_states(tracer, average, Tag::parameters, kAveragePrefix);
  bind_states(tracer, gradients, Tag::gradients, kGradientPrefix);

  FindLogits logits(tracer, targets.front());
  const ops::DispatchScope dispatch(logits);
  const ops::RandomScope random({});
  std::vector<Tensor> parameters;
  for (const Variable& p : optimizer.parameters()) parameters.push_back(p.tensor());
  ops::GradientTape tape;
  tape.watch(parameters);
  JudgedGraph result{.outputs = {"loss"}};
  nn::Tensors judged;
  Tensor loss;
  Tensor minimised;
  {
    const PolicyScope policy(rules.precision);
    nn::Tensors predictions;
    loss = what.loss.of(what.model, inputs, targets, &predictions);
    {
      const ops::DispatchScope beside(tracer);  // no gradients by metrics are asked for
      if (!what.metrics.empty() && !predictions.empty()) {
        add_metrics(what.metrics, predictions.front(), targets.front(), batch.size(), judged,
                    result.outputs);
      } else if (logits.found().defined() && gives_accuracy(what.metrics)) {
        add_metrics({"accuracy"}, logits.found(), targets.front(), batch.size(), judged,
                    result.outputs);
      }
    }
    minimised = loss_scale != nullptr ? loss_scale->scaled(loss) : loss;
    if (parts > 1) minimised = ops::scale(minimised, 1.0 / static_cast<double>(parts));
  }
  std::vector<Tensor> found = tape.gradient(minimised, parameters);
  if (!found.empty() && std::ranges::none_of(found, &Tensor::defined)) {
    throw InvalidArgument(
        "[Trainer] the loss depends on none of the parameters that are trained; compute it from "
        "the prediction, by ops of the library alone");
  }
  tracer.output(loss);
  for (const Tensor& output : judged) tracer.output(output);

  if (part != StepPart::whole) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i].defined()) continue;
      const Tensor& sum = gradients->at(i).tensor();
      const Tensor both = part == StepPart::first ? found[i] : ops::add(sum, found[i]);
      if (part == StepPart::last) {
        found[i] = both;
      } else {
        ops::assign(sum, both);
      }
    }
    if (part != StepPart::last) {
      result.graph = finished(tracer, rules.channels_last);
      return result;
    }
  }
  Tensor enable;
  if (loss_scale != nullptr) {
    LossScale::Result scaled = loss_scale->update(found);
    found = std::move(scaled.gradients);
    enable = scaled.finite;
  }
  clip(found, rules);
  // Updates widen a gradient themselves: no need to write and read it once more.
  for (Tensor& g : found) {
    if (g.defined()) g = tracer.before_widening(g);
  }
  optimizer.apply(found, enable);
  if (average != nullptr) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Tensor& mean = average->at(i).tensor();
      ops::assign(mean, ops::add(ops::scale(mean, rules.average_decay),
                                 ops::scale(parameters[i], 1 - rules.average_decay)));
    }
  }
  result.graph = finished(tracer, rules.channels_last);
  return result;
}

nn::Tensors evaluation_outputs(const Minimised& what, const Precision& precision,
                               const nn::Tensors& inputs, const nn::Tensors& targets,
                               std::vector<std::string>& names) {
  const EvaluationMode mode(what.model);
  CommonCalls calls(dynamic_cast<Tracer&>(ops::Dispatcher::current()));
  const ops::DispatchScope dispatch(calls);
  const PolicyScope policy(precision);
  nn::Tensors predictions;
  nn::Tensors outputs = {what.loss.of(what.model, inputs, targets, &predictions)};
  names.emplace_back("loss");
  const std::int64_t before = calls.made();
  const bool wanted = !what.metrics.empty();
  if (predictions.empty()) predictions = what.model(inputs);
  // A loss that is not made of whole logits has none to spare.
  const bool shared = calls.made() == before;
  if (!wanted && shared && predictions.size() == 1 && targets.size() == 1 &&
      are_logits_of(predictions.front(), targets.front())) {
    add_metrics({"accuracy"}, predictions.front(), targets.front(), inputs.front().dim(0), outputs,
                names);
  }
  add_metrics(what.metrics, predictions.front(), targets.front(), inputs.front().dim(0), outputs,
              names);
  return outputs;
}

JudgedGraph trace_evaluation(const Minimised& what, const Precision& precision, bool channels_last,
                             const Batch& batch) {
  Tracer tracer;
  const nn::Tensors inputs = inputs_of(tracer, "input", batch.inputs);
  const nn::Tensors targets = inputs_of(tracer, "target", batch.targets);
  bind(tracer, what.model);
  JudgedGraph result;
  {
    const ops::DispatchScope dispatch(tracer);
    const ops::RandomScope random({});
    for (const Tensor& output :
         evaluation_outputs(what, precision, inputs, targets, result.outputs)) {
      tracer.output(output);
    }
  }
  result.graph = finished(tracer, channels_last);
  return result;
}

std::shared_ptr<const graph::Graph> trace_prediction(const nn::Model& model,
                                                     const Precision& precision, bool channels_last,
                                                     const std::vector<TensorType>& types) {
  const EvaluationMode mode(model);
  Tracer tracer;
  const nn::Tensors inputs = inputs_of(tracer, "input", types);
  bind(tracer, model);
  {
    const ops::DispatchScope dispatch(tracer);
    const ops::RandomScope random({});
    const PolicyScope policy(precision);
    for (const Tensor& output : model(inputs)) tracer.output(output);
  }
  return finished(tracer, channels_last);
}

bool has_batch_statistics(const graph::Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const graph::Node& node) { return node.op->batch_statistics; });
}

}  // namespace plimsoll::train

#include <plimsoll/optim/optimizer.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/update.h>
#include <plimsoll/ops/variable_reader.h>

namespace plimsoll::optim {
namespace {

constexpr std::size_t kRate = 0;
constexpr std::size_t kStep = 1;

State declare(std::string name, const TensorType& type, double initial = 0) {
  return Variable::declare(
      type, {.name = std::move(name),
             .trainable = false,
             .tag = Tag::optimizer,
             .initial = [initial](const Variable& state, const Device& device) {
               Tensor made = Tensor::zeros(state.type().shape, state.type().dtype, device,
                                           {.tag = Tag::optimizer, .label = state.name()});
               if (initial != 0) {
                 ops::assign(made, ops::full(made.shape(), initial, made.dtype(), device));
               }
               return made;
             }});
}

}  // namespace

Group no_decay_for_vectors() {
  return {.name = "vectors",
          .takes = [](const Variable& v) { return v.type().shape.rank() < 2; },
          .weight_decay_factor = 0};
}

struct Optimizer::Impl {
  std::unique_ptr<const Rule> rule;
  Schedule schedule;
  std::vector<Group> groups;
  std::vector<Variable> parameters = {};
  std::vector<State> state = {};        ///< rate, step, then those of each parameter in turn
  std::vector<std::size_t> first = {};  ///< of each parameter, among those
  std::int64_t step = 0;
  double rate_factor = 1;
  float written_rate = -1;
  const void* written_to = nullptr;  ///< where it was written; elsewhere it must be written again

  /// Declares the state of one more.
  void add(const Variable& variable) {
    if (state.empty()) {
      state.push_back(declare("rate", {DType::f32, {}}));
      state.push_back(declare("step", {DType::f32, {}}));
    }
    first.push_back(state.size());
    for (const Rule::Kept& kept : rule->state_of(variable.type())) {
      state.push_back(
          declare(fmt::format("{}.{}", kept.name, variable.name()), kept.type, kept.initial));
    }
    parameters.push_back(variable);
  }

  const Group* group_of(const Variable& variable) const {
    for (const Group& group : groups) {
      if (group.takes && group.takes(variable)) return &group;
    }
    return nullptr;
  }

  double rate() const { return schedule.at(step) * rate_factor; }
  std::span<const State> state_of(std::size_t parameter) const {
    const std::size_t end = parameter + 1 < first.size() ? first[parameter + 1] : state.size();
    return std::span(state).subspan(first[parameter], end - first[parameter]);
  }

  bool rate_changes() const {
    return written_rate != static_cast<float>(rate()) ||
           written_to != state[kRate].tensor().raw_data();
  }
};

namespace {

void check(std::span<const Tensor> gradients, std::span<const Variable> variables) {
  if (gradients.size() != variables.size()) {
    throw InvalidArgument(fmt::format("[Optimizer::apply] {} gradients for {} parameters",
                                      gradients.size(), variables.size()));
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].defined() && gradients[i].shape() != variables[i].type().shape) {
      throw InvalidArgument(fmt::format("[Optimizer::apply] the gradient of {} is {}, but it is {}",
                                        variables[i].name(), gradients[i].type().to_string(),
                                        variables[i].type().to_string()));
    }
  }
}

}  // namespace

Optimizer::Optimizer(std::unique_ptr<const Rule> rule, Schedule rate, std::vector<Group> groups)
    : impl_(std::make_shared<Impl>(Impl{std::move(rule), std::move(rate), std::move(groups)})) {}

std::string_view Optimizer::name() const { return impl_->rule->name(); }
const Schedule& Optimizer::schedule() const { return impl_->schedule; }
const std::vector<Variable>& Optimizer::parameters() const { return impl_->parameters; }
const std::vector<State>& Optimizer::state() const { return impl_->state; }
std::int64_t Optimizer::step() const { return impl_->step; }
void Optimizer::set_step(std::int64_t step) {
  impl_->step = step;
  impl_->written_to = nullptr;
}
double Optimizer::rate() const { return impl_->rate(); }
double Optimizer::rate_factor() const { return impl_->rate_factor; }
void Optimizer::set_rate_factor(double factor) {
  if (!std::isfinite(factor) || factor < 0) {
    throw InvalidArgument(
        fmt::format("[Optimizer] a rate factor of {}; it must be 0 or more, and finite", factor));
  }
  impl_->rate_factor = factor;
}
bool Optimizer::rate_changes() const { return impl_->rate_changes(); }

void Optimizer::attach(std::span<const Variable> variables) {
  if (!impl_->parameters.empty()) {
    throw InvalidArgument("[Optimizer::attach] it has variables already; make another optimizer");
  }
  if (variables.empty()) {
    throw InvalidArgument(
        "[Optimizer::attach] there is no parameter that is trained: modules and parameters belong "
        "to "
        "a module when it is made, not in its forward(), and those that are frozen do not count");
  }
  for (const Variable& variable : variables) impl_->add(variable);
}

Bytes Optimizer::state_bytes() const {
  Bytes total = 0;
  for (const State& s : impl_->state) total += s.type().bytes();
  return total;
}

void Optimizer::materialize(const Device& device) {
  if (impl_->parameters.empty()) {
    throw InvalidArgument("[Optimizer::materialize] attach a module first");
  }
  std::vector<State> made;
  try {
    for (const State& s : impl_->state) {
      if (s.has_data()) continue;
      s.materialize(device);
      made.push_back(s);
    }
  } catch (...) {
    for (const State& s : made) s.release();
    throw;
  }
  if (!made.empty()) impl_->written_to = nullptr;
}

void Optimizer::release() {
  impl_->written_to = nullptr;
  for (const State& s : impl_->state) s.release();
}

void Optimizer::begin_step(StreamId stream) {
  if (impl_->state.empty() || !impl_->state[kRate].has_data()) {
    throw InvalidArgument("[Optimizer::begin_step] its state has no data; materialize it first");
  }
  if (impl_->rate_changes()) {
    const auto value = static_cast<float>(rate());
    Tensor tensor = impl_->state[kRate].tensor();
    tensor.device().copy(tensor.raw_mutable_data(), &value, sizeof(value), stream);
    impl_->written_rate = value;
    impl_->written_to = tensor.raw_data();
  }
  ++impl_->step;
}

void Optimizer::apply(std::span<const Tensor> gradients, const Tensor& enable) {
  check(gradients, impl_->parameters);
  const Tensor& step = impl_->state[kStep].value();
  ops::assign(
      step, enable.defined() ? ops::add(step, ops::cast(enable, DType::f32)) : ops::shift(step, 1));
  std::vector<std::pair<double, Tensor>> rates;
  const auto rate_times = [&](double factor) {
    for (const auto& [known, rate] : rates) {
      if (known == factor) return rate;
    }
    const Tensor& rate = impl_->state[kRate].value();
    rates.emplace_back(factor, factor == 1 ? rate : ops::scale(rate, factor));
    return rates.back().second;
  };
  std::vector<Tensor> kept;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    kept.clear();
    for (const State& state : impl_->state_of(i)) kept.push_back(state.value());
    const Variable& variable = impl_->parameters[i];
    const Group* group = impl_->group_of(variable);
    const Tensor rate = rate_times(group != nullptr ? group->rate_factor : 1);
    impl_->rule->apply({.parameter = variable.value(),
                        .state = kept,
                        .gradient = gradients[i],
                        .rate = rate,
                        .step = step,
                        .weight_decay_factor = group != nullptr ? group->weight_decay_factor : 1,
                        .enable = enable});
  }
}

void Optimizer::update(std::span<const Tensor> gradients) {
  begin_step();
  apply(gradients);
}

void Optimizer::apply(const ops::Gradients& gradients, const Tensor& enable) {
  check(gradients.tensors, gradients.variables);
  std::vector<Variable>& known = impl_->parameters;
  std::vector<Tensor> ordered(known.size());
  for (std::size_t i = 0; i < gradients.variables.size(); ++i) {
    const auto at = std::ranges::find(known, gradients.variables[i]);
    ordered.resize(std::max(ordered.size(), static_cast<std::size_t>(at - known.begin()) + 1));
    ordered[static_cast<std::size_t>(at - known.begin())] = gradients.tensors[i];
    if (at == known.end()) impl_->add(gradients.variables[i]);
  }
  if (ordered.empty()) throw InvalidArgument("[Optimizer::apply] there are no gradients");
  if (std::ranges::none_of(gradients.tensors, &Tensor::defined)) {
    throw InvalidArgument(fmt::format(
        "[Optimizer::apply] none of the {} variables, '{}' among them, has a gradient: the loss "
        "does not "
        "depend on them; compute it from them while the tape records, with ops and not with values "
        "that were read out",
        gradients.variables.size(), gradients.variables.front().name()));
  }
  ops::VariableReader* reader = ops::VariableReader::current();
  if (reader != nullptr && reader->records()) {
    // Copies of an optimizer are the same one.
    reader->before_run([self = *this](StreamId stream) mutable { self.begin_step(stream); });
    apply(std::span<const Tensor>(ordered), enable);
    return;
  }
  materialize(known.front().tensor().device());
  const std::int64_t before = impl_->step;
  begin_step();
  try {
    apply(std::span<const Tensor>(ordered), enable);
  } catch (...) {
    set_step(before);
    throw;
  }
}

void bind(graph::Tracer& tracer, const Optimizer& optimizer) {
  for (const State& s : optimizer.state()) {
    tracer.bind(s.tensor(), graph::Role::state, Tag::optimizer, "optimizer." + s.name());
  }
}

}  // namespace plimsoll::optim

#include <plimsoll/optim/optimizer.h>

#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/update.h>

namespace plimsoll::optim {
namespace {

constexpr std::size_t kRate = 0;
constexpr std::size_t kStep = 1;
constexpr std::size_t kFirst = 2;  ///< of the rule's

struct Declared final : Symbol {
  explicit Declared(std::string n) : name(std::move(n)) {}
  std::string describe() const override { return "the optimizer's " + name; }
  std::string name;
};

State declare(std::string name, const TensorType& type) {
  Tensor tensor = Tensor::symbolic(type, std::make_shared<Declared>(name));
  return {std::move(name), std::move(tensor)};
}

}  // namespace

Group no_decay_for_vectors() {
  return {.name = "vectors",
          .takes = [](const nn::Parameter& p) { return p.type().shape.rank() < 2; },
          .weight_decay_factor = 0};
}

Optimizer::Optimizer(std::unique_ptr<const Rule> rule, Schedule rate, std::vector<Group> groups)
    : rule_("Optimizer", std::move(rule)), schedule_(std::move(rate)), groups_(std::move(groups)) {}

void Optimizer::attach(const nn::Module& module) {
  if (!parameters_.empty()) {
    throw InvalidArgument("[Optimizer::attach] it has a module already; make another optimizer");
  }
  parameters_ = module.trainable_parameters();
  if (parameters_.empty()) {
    throw InvalidArgument("[Optimizer::attach] the module has no parameter that is trained");
  }
  state_.push_back(declare("rate", {DType::f32, {}}));
  state_.push_back(declare("step", {DType::f32, {}}));
  for (const nn::Parameter* p : parameters_) {
    for (const std::string_view name : rule_->state_names()) {
      state_.push_back(declare(fmt::format("{}.{}", name, p->name()), p->type()));
    }
  }
}

Bytes Optimizer::state_bytes() const {
  Bytes total = 0;
  for (const State& s : state_) total += s.tensor.type().bytes();
  return total;
}

void Optimizer::materialize(const Device& device) {
  if (parameters_.empty()) {
    throw InvalidArgument("[Optimizer::materialize] attach a module first");
  }
  std::vector<Tensor> fresh;
  for (const State& s : state_) {
    fresh.push_back(s.tensor.is_symbolic()
                        ? Tensor::zeros(s.tensor.shape(), s.tensor.dtype(), device,
                                        {.tag = Tag::optimizer, .label = s.name})
                        : s.tensor);
  }
  for (std::size_t i = 0; i < state_.size(); ++i) state_[i].tensor = std::move(fresh[i]);
  written_to_ = nullptr;
}

void Optimizer::release() {
  written_to_ = nullptr;
  for (State& s : state_) {
    if (!s.tensor.is_symbolic()) s = declare(s.name, s.tensor.type());
  }
}

void Optimizer::begin_step(StreamId stream) {
  if (state_.empty() || state_[kRate].tensor.is_symbolic()) {
    throw InvalidArgument("[Optimizer::begin_step] its state has no data; materialize it first");
  }
  if (rate_changes()) {
    const auto value = static_cast<float>(rate());
    Tensor& tensor = state_[kRate].tensor;
    tensor.device().copy(tensor.raw_mutable_data(), &value, sizeof(value), stream);
    written_rate_ = value;
    written_to_ = tensor.raw_data();
  }
  ++host_step_;
}

bool Optimizer::rate_changes() const {
  return written_rate_ != static_cast<float>(rate()) ||
         written_to_ != state_[kRate].tensor.raw_data();
}

const Group* Optimizer::group_of(const nn::Parameter& parameter) const {
  for (const Group& group : groups_) {
    if (group.takes && group.takes(parameter)) return &group;
  }
  return nullptr;
}

void Optimizer::check(std::span<const Tensor> gradients) const {
  if (gradients.size() != parameters_.size()) {
    throw InvalidArgument(fmt::format("[Optimizer::apply] {} gradients for {} parameters",
                                      gradients.size(), parameters_.size()));
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].defined() && gradients[i].shape() != parameters_[i]->type().shape) {
      throw InvalidArgument(fmt::format("[Optimizer::apply] the gradient of {} is {}, but it is {}",
                                        parameters_[i]->name(), gradients[i].type().to_string(),
                                        parameters_[i]->type().to_string()));
    }
  }
}

void Optimizer::apply(std::span<const Tensor> gradients, const Tensor& enable) {
  check(gradients);
  const Tensor& step = state_[kStep].tensor;
  ops::assign(
      step, enable.defined() ? ops::add(step, ops::cast(enable, DType::f32)) : ops::shift(step, 1));
  const std::size_t each = rule_->state_names().size();
  std::vector<std::pair<double, Tensor>> rates;
  const auto rate_times = [&](double factor) {
    for (const auto& [known, rate] : rates) {
      if (known == factor) return rate;
    }
    const Tensor& rate = state_[kRate].tensor;
    rates.emplace_back(factor, factor == 1 ? rate : ops::scale(rate, factor));
    return rates.back().second;
  };
  std::vector<Tensor> kept;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!gradients[i].defined()) continue;
    kept.clear();
    for (std::size_t s = 0; s < each; ++s) kept.push_back(state_[kFirst + i * each + s].tensor);
    const Group* group = group_of(*parameters_[i]);
    const Tensor rate = rate_times(group != nullptr ? group->rate_factor : 1);
    rule_->apply({.parameter = parameters_[i]->tensor(),
                  .state = kept,
                  .gradient = gradients[i],
                  .rate = rate,
                  .step = step,
                  .weight_decay_factor = group != nullptr ? group->weight_decay_factor : 1,
                  .enable = enable});
  }
}

void bind(graph::Tracer& tracer, const Optimizer& optimizer) {
  for (const State& s : optimizer.state()) {
    tracer.bind(s.tensor, graph::Role::state, Tag::optimizer, "optimizer." + s.name);
  }
}

}  // namespace plimsoll::optim

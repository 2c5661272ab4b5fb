#include <plimsoll/nn/module.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/default_device.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/seed.h>
#include <plimsoll/ops/switches.h>

namespace plimsoll::nn {

struct Module::State {
  struct Own {
    std::string leaf;  ///< its name here
    Parameter parameter;
    bool shared = false;  ///< another module's, which names it
  };

  std::string name;
  std::string path;             ///< dotted, from the root
  std::weak_ptr<State> parent;  ///< the first that it was put into
  bool training = true;
  bool declares_later = false;  ///< its parameters: their extents follow from its first input
  std::vector<Own> own;
  std::vector<std::shared_ptr<Module>> children;
  std::vector<std::string> child_names;  ///< as this one calls them

  std::string path_of(std::string_view what) const {
    return path.empty() ? std::string(what) : fmt::format("{}.{}", path, what);
  }

  /// Each module once, this one first.
  template <typename Visit>
  void visit(const Visit& visit) {
    std::unordered_set<const State*> seen;
    this->visit(visit, seen);
  }
  template <typename Visit>
  void visit(const Visit& visit, std::unordered_set<const State*>& seen) {
    if (!seen.insert(this).second) return;
    visit(*this);
    for (const auto& child : children) child->state_->visit(visit, seen);
  }

  /// Names everything in it for this path.
  void place(const std::string& at) {
    path = at;
    for (const Own& each : own) {
      if (!each.shared) each.parameter.set_name(path_of(each.leaf));
    }
    for (const auto& child : children) {
      State& state = *child->state_;
      if (state.parent.lock().get() == this) state.place(path_of(state.name));
    }
  }

  Parameter declare(std::string_view leaf, const TensorType& type, const Init& init, bool buffer) {
    return take(leaf, Parameter(path_of(leaf), type, init, buffer));
  }
  Parameter take(std::string_view leaf, const Parameter& made) {
    own.push_back({std::string(leaf), made});
    declares_later = false;
    return made;
  }
};

namespace {

/// How many modules this thread is in.
thread_local int depth = 0;

class Entered {
 public:
  Entered() { ++depth; }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  ~Entered() { --depth; }
};

/// Runs `forward` as the module does: under its name, and the outermost one with data for all.
template <typename Forward>
auto call(const Module& module, const Tensor& first, const Forward& forward) {
  std::optional<DefaultDevice> here;
  const ops::VariableReader* reader = ops::VariableReader::current();
  const bool traced = reader != nullptr && reader->records();
  if (depth == 0 && first.defined() && !first.is_symbolic() && !traced) {
    here.emplace(first.device());
    module.materialize(first.device());
  }
  const Entered entered;
  std::optional<ops::NameScope> scope;
  if (!module.name().empty()) scope.emplace(module.name());
  return forward();
}

}  // namespace

Module::Module() : state_(std::make_shared<State>()) {}
Module::~Module() = default;

const std::string& Module::name() const { return state_->name; }
const std::string& Module::path() const { return state_->path; }
bool Module::training() const {
  if (ops::SwitchReads* reads = ops::SwitchReads::current()) {
    reads->note({state_, &state_->training});
  }
  return state_->training;
}
const std::vector<std::shared_ptr<Module>>& Module::children() const { return state_->children; }
const std::vector<std::string>& Module::child_names() const { return state_->child_names; }

Tensor Module::forward(const Tensor& x) const {
  // Neither is implemented where both lead here.
  thread_local const Module* asked = nullptr;
  if (asked == this) {
    throw InvalidArgument("[Module] it has neither forward() nor forward_all(); override one");
  }
  const Module* before = std::exchange(asked, this);
  Tensors outputs;
  try {
    outputs = forward_all({x});
  } catch (...) {
    asked = before;
    throw;
  }
  asked = before;
  if (outputs.size() != 1) {
    throw InvalidArgument(
        fmt::format("[Module] it has {} outputs, but one is needed; call it with a list of "
                    "inputs",
                    outputs.size()));
  }
  return outputs.front();
}

Tensors Module::forward_all(const Tensors& inputs) const {
  if (inputs.size() != 1) {
    throw InvalidArgument(
        fmt::format("[Module] it was called with {} inputs and takes one; a module of your own can "
                    "take several",
                    inputs.size()));
  }
  return {forward(inputs.front())};
}

Tensor Module::operator()(const Tensor& x) const {
  return call(*this, x, [&] { return forward(x); });
}

Tensors Module::operator()(const Tensors& inputs) const {
  return call(*this, inputs.empty() ? Tensor() : inputs.front(),
              [&] { return forward_all(inputs); });
}

Tensor Module::loss(const Tensor& /*input*/, const Tensor& /*target*/) const {
  throw InvalidArgument(
      "[Module] it has no loss of its own; give the trainer one, such as cross_entropy, or "
      "override loss()");
}

Tensor Module::loss_all(const Tensors& inputs, const Tensors& targets) const {
  if (inputs.size() != 1 || targets.size() != 1) {
    throw InvalidArgument(
        fmt::format("[Module] it has no loss of its own for {} inputs and {} targets; override "
                    "loss_all(), or give the trainer a loss",
                    inputs.size(), targets.size()));
  }
  return loss(inputs.front(), targets.front());
}

std::vector<TensorType> Module::batch_types(std::int64_t /*n*/) const { return {}; }

std::vector<Parameter> Module::all() const {
  std::vector<Parameter> found;
  std::unordered_set<const void*> seen;
  state_->visit([&](const State& state) {
    for (const State::Own& each : state.own) {
      if (seen.insert(each.parameter.id()).second) found.push_back(each.parameter);
    }
  });
  return found;
}

std::vector<Parameter> Module::parameters() const {
  std::vector<Parameter> found = all();
  std::erase_if(found, [](const Parameter& p) { return p.is_buffer(); });
  return found;
}

std::vector<Parameter> Module::buffers() const {
  std::vector<Parameter> found = all();
  std::erase_if(found, [](const Parameter& p) { return !p.is_buffer(); });
  return found;
}

std::vector<Variable> Module::trainable_variables() const {
  std::vector<Variable> found;
  for (const Parameter& p : all()) {
    if (p.trainable()) found.push_back(p);
  }
  return found;
}

std::optional<Parameter> Module::find(std::string_view name) const {
  for (const Parameter& p : all()) {
    if (p.name() == name) return p;
  }
  return std::nullopt;
}

std::int64_t Module::parameter_count() const {
  std::int64_t count = 0;
  for (const Parameter& p : parameters()) count += p.type().elements();
  return count;
}

Bytes Module::bytes() const {
  Bytes total = 0;
  for (const Parameter& p : all()) total += p.type().bytes();
  return total;
}

void Module::build(std::span<const TensorType> inputs) const {
  graph::Tracer tracer;
  Tensors symbolic;
  for (const TensorType& type : inputs) symbolic.push_back(tracer.input("input", type));
  const ops::DispatchScope dispatch(tracer);
  const ops::RandomScope random({});
  (*this)(symbolic);
}

void Module::materialize(const Device& device, std::optional<std::uint64_t> seed) const {
  std::vector<Parameter> missing = all();
  std::erase_if(missing, [](const Parameter& p) { return p.has_data(); });
  const std::uint64_t with = seed.value_or(ops::default_seed());
  std::vector<Tensor> fresh;
  fresh.reserve(missing.size());
  for (const Parameter& p : missing) {
    fresh.push_back(Tensor::empty(p.type().shape, p.type().dtype, device,
                                  {.tag = Tag::parameters, .label = p.name()}));
  }
  for (std::size_t i = 0; i < missing.size(); ++i) {
    fill(fresh[i], missing[i].init(), missing[i].name(), with);
  }
  for (std::size_t i = 0; i < missing.size(); ++i) missing[i].set_tensor(std::move(fresh[i]));
}

void Module::release() const {
  for (const Parameter& p : all()) p.release();
}

void Module::train(bool on) const {
  state_->visit([&](State& state) { state.training = on; });
}

void Module::freeze(bool on) const {
  for (const Parameter& p : parameters()) p.set_trainable(!on);
}

void Module::check_name(std::string_view name) const {
  if (name.empty()) throw InvalidArgument("[Module] a name is empty");
  if (name.find_first_of("./") != std::string_view::npos) {
    throw InvalidArgument(
        fmt::format("[Module] '{}' is not a valid name; names have no '.' and no '/'", name));
  }
  if (own(name) != nullptr || std::ranges::count(state_->child_names, name) != 0) {
    throw InvalidArgument(fmt::format(
        "[Module] there is a '{}' already, and what a module has cannot be replaced; make a module "
        "with the new one, and load the weights of all others with 'strict' = false",
        state_->path_of(name)));
  }
}

const Parameter* Module::own(std::string_view name) const {
  const auto it = std::ranges::find(state_->own, name, &State::Own::leaf);
  return it == state_->own.end() ? nullptr : &it->parameter;
}

Parameter Module::parameter(std::string_view name, const Shape& shape, const Init& init) const {
  check_name(name);
  return state_->declare(name, {DType::f32, shape}, init, false);
}

Parameter Module::buffer(std::string_view name, const TensorType& type, const Init& init) const {
  check_name(name);
  return state_->declare(name, type, init, true);
}

Parameter Module::parameter(std::string_view name, const Variable& variable) const {
  return parameter(name, Parameter(variable));
}

Parameter Module::parameter(std::string_view name, const Parameter& parameter) const {
  check_name(name);
  parameter.set_name(state_->path_of(name));
  return state_->take(name, parameter);
}

void Module::declare_later() const { state_->declares_later = true; }

const Module* Module::first_unbuilt() const {
  if (state_->declares_later) return this;
  for (const auto& child : state_->children) {
    if (const Module* const found = child->first_unbuilt()) return found;
  }
  return nullptr;
}

void Module::share(std::string_view name, const Parameter& parameter) const {
  check_name(name);
  state_->own.push_back({std::string(name), parameter, true});
}

void Module::add(std::string_view name, std::shared_ptr<Module> module) const {
  check_name(name);
  if (module == nullptr) {
    throw InvalidArgument(fmt::format("[Module::add] no module for \"{}\"", name));
  }
  State& child = *module->state_;
  child.visit([&](const State& each) {
    if (&each != state_.get()) return;
    throw InvalidArgument(
        fmt::format("[Module::add] '{}' is or contains the module that it is put into", name));
  });
  if (child.parent.expired()) {
    child.parent = state_;
    child.name = name;
    child.place(state_->path_of(name));
  }
  state_->child_names.emplace_back(name);
  state_->children.push_back(std::move(module));
}

void bind(graph::Tracer& tracer, const Module& module) {
  for (const Parameter& p : module.parameters()) {
    tracer.bind(p.tensor(), graph::Role::parameter, Tag::parameters, p.name());
  }
  for (const Parameter& p : module.buffers()) {
    tracer.bind(p.tensor(), graph::Role::state, Tag::parameters, p.name());
  }
}

}  // namespace plimsoll::nn

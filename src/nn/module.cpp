#include <plimsoll/nn/module.h>

#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/dispatcher.h>

namespace plimsoll::nn {

/// Stands in the tensor until there is data. The name grows as modules are put into others.
struct Parameter::Declared final : Symbol {
  explicit Declared(std::string n) : name(std::move(n)) {}
  std::string describe() const override { return "the parameter " + name; }
  std::string name;
};

Parameter::Parameter(std::string name, const TensorType& type, const Init& init, bool buffer)
    : declared_(std::make_shared<Declared>(std::move(name))),
      tensor_(Tensor::symbolic(type, declared_)),
      init_(init),
      buffer_(buffer) {}
Parameter::~Parameter() = default;

const std::string& Parameter::name() const { return declared_->name; }

void Parameter::set_tensor(Tensor tensor) {
  if (tensor.is_symbolic() || tensor.type() != type()) {
    throw InvalidArgument(fmt::format(
        "[Parameter] {} is {}; {} cannot be its data", name(), type().to_string(),
        tensor.is_symbolic() ? tensor.symbol()->describe() : tensor.type().to_string()));
  }
  tensor_ = std::move(tensor);
}

void Parameter::release() {
  if (has_data()) tensor_ = Tensor::symbolic(type(), declared_);
}

Module::~Module() = default;

Tensor Module::operator()(const Tensor& x) const {
  if (name_.empty()) return forward(x);
  const ops::NameScope scope(name_);
  return forward(x);
}

template <typename Visit>
void Module::visit(const Visit& visit) const {
  for (const auto& parameter : own_) visit(*parameter);
  for (const auto& child : children_) child->visit(visit);
}

std::vector<Parameter*> Module::parameters() {
  std::vector<Parameter*> all;
  visit([&](Parameter& p) {
    if (!p.is_buffer()) all.push_back(&p);
  });
  return all;
}
std::vector<const Parameter*> Module::parameters() const {
  std::vector<const Parameter*> all;
  visit([&](const Parameter& p) {
    if (!p.is_buffer()) all.push_back(&p);
  });
  return all;
}
std::vector<Parameter*> Module::buffers() {
  std::vector<Parameter*> all;
  visit([&](Parameter& p) {
    if (p.is_buffer()) all.push_back(&p);
  });
  return all;
}
std::vector<const Parameter*> Module::buffers() const {
  std::vector<const Parameter*> all;
  visit([&](const Parameter& p) {
    if (p.is_buffer()) all.push_back(&p);
  });
  return all;
}
std::vector<const Parameter*> Module::trainable_parameters() const {
  std::vector<const Parameter*> all;
  visit([&](const Parameter& p) {
    if (p.trainable()) all.push_back(&p);
  });
  return all;
}

Parameter* Module::find(std::string_view name) {
  Parameter* found = nullptr;
  visit([&](Parameter& p) {
    if (p.name() == name) found = &p;
  });
  return found;
}

std::int64_t Module::parameter_count() const {
  std::int64_t count = 0;
  for (const Parameter* p : parameters()) count += p->type().elements();
  return count;
}

Bytes Module::bytes() const {
  Bytes total = 0;
  visit([&](const Parameter& p) { total += p.type().bytes(); });
  return total;
}

void Module::materialize(const Device& device, std::uint64_t seed) {
  std::vector<Parameter*> missing;
  visit([&](Parameter& p) {
    if (!p.has_data()) missing.push_back(&p);
  });
  std::vector<Tensor> fresh;
  fresh.reserve(missing.size());
  for (const Parameter* p : missing) {
    fresh.push_back(Tensor::empty(p->type().shape, p->type().dtype, device,
                                  {.tag = Tag::parameters, .label = p->name()}));
  }
  for (std::size_t i = 0; i < missing.size(); ++i) {
    fill(fresh[i], missing[i]->init(), missing[i]->name(), seed);
  }
  for (std::size_t i = 0; i < missing.size(); ++i) missing[i]->set_tensor(std::move(fresh[i]));
}

void Module::release() {
  visit([](Parameter& p) { p.release(); });
}

void Module::train(bool on) {
  training_ = on;
  for (const auto& child : children_) child->train(on);
}

void Module::freeze(bool on) {
  for (Parameter* p : parameters()) p->set_trainable(!on);
}

std::string Module::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

void Module::check_name(std::string_view name) const {
  if (name.empty() || name.find_first_of("./") != std::string_view::npos) {
    throw InvalidArgument(
        fmt::format("[Module] '{}' is no name; it needs one without '.' and '/'", name));
  }
  const std::string path = path_of(name);
  if (std::any_of(own_.begin(), own_.end(), [&](const auto& p) { return p->name() == path; }) ||
      std::any_of(children_.begin(), children_.end(),
                  [&](const auto& child) { return child->name_ == name; })) {
    throw InvalidArgument(fmt::format("[Module] there is a '{}' already", path));
  }
}

Parameter& Module::declare(std::string_view name, const TensorType& type, const Init& init,
                           bool is_buffer) {
  check_name(name);
  return *own_.emplace_back(std::make_unique<Parameter>(path_of(name), type, init, is_buffer));
}

Parameter& Module::parameter(std::string_view name, const Shape& shape, const Init& init) {
  return declare(name, {DType::f32, shape}, init, false);
}

Parameter& Module::buffer(std::string_view name, const TensorType& type, const Init& init) {
  return declare(name, type, init, true);
}

Module& Module::adopt(std::string_view name, std::unique_ptr<Module> module) {
  check_name(name);
  if (module == nullptr) {
    throw InvalidArgument(fmt::format("[Module::adopt] no module for \"{}\"", name));
  }
  module->name_ = name;
  module->prefix(path_of(name));
  return *children_.emplace_back(std::move(module));
}

void Module::prefix(const std::string& with) {
  for (const auto& p : own_) p->declared_->name = fmt::format("{}.{}", with, p->name());
  for (const auto& child : children_) child->prefix(with);
  path_ = path_.empty() ? with : fmt::format("{}.{}", with, path_);
}

void bind(graph::Tracer& tracer, const Module& module) {
  for (const Parameter* p : module.parameters()) {
    tracer.bind(p->tensor(), graph::Role::parameter, Tag::parameters, p->name());
  }
  for (const Parameter* p : module.buffers()) {
    tracer.bind(p->tensor(), graph::Role::state, Tag::parameters, p->name());
  }
}

}  // namespace plimsoll::nn

#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/nn/parameter.h>
#include <plimsoll/tensor/tensor.h>

namespace plimsoll::nn {

using Tensors = std::vector<Tensor>;

/// A piece of a model: named parameters and buffers, modules within it, and what it computes.
///
///   class Net final : public pm::nn::Module {
///    public:
///     pm::Tensor forward(const pm::Tensor& x) const override { return second(pm::relu(first(x)));
///     }
///
///    private:
///     pm::nn::Dense first = add("first", pm::nn::Dense(128));
///     pm::nn::Dense second = add("second", pm::nn::Dense(10));
///   };
///
/// A shared handle: copies are the same module with the same parameters, so that modules are plain
/// members. What a class of one's own keeps besides must not change once it was copied.
///
/// Making a module allocates nothing: planning a model of any size takes no memory. The same
/// forward() runs eagerly, on a tape and into a trace; it must not look at values, since a traced
/// tensor has none. Extents that layers were not told (`Dense(128)`) are inferred when the module
/// is first called, traced or planned; build() infers them alone.
///
/// Not thread-safe while it is changed; once it has data, any number of threads may run it that do
/// not train.
class Module {
 public:
  Module();
  Module(const Module&) = default;  // moving copies: a handle is never empty
  Module& operator=(const Module&) = default;
  virtual ~Module();

  /// What it computes, for one input and one output.
  virtual Tensor forward(const Tensor& x) const;
  /// The same for several inputs or outputs. A module implements one of the two; each stands for
  /// the other where there is one tensor.
  virtual Tensors forward_all(const Tensors& inputs) const;

  /// forward() under the module's name, which traces and messages show: "layer1/0/conv1".
  /// Parameters without data get their first values now, on the device of `x`: all or, where that
  /// throws OutOfMemory, none of those whose extents are known.
  Tensor operator()(const Tensor& x) const;
  Tensors operator()(const Tensors& inputs) const;

  /// What training minimises where no other loss is named, an f32 scalar, for one input and one
  /// target or for several. A module has none by default, and the trainer must be told.
  virtual Tensor loss(const Tensor& input, const Tensor& target) const;
  virtual Tensor loss_all(const Tensors& inputs, const Tensors& targets) const;
  /// What a step is fed for a batch of `n`, inputs then target, for models that know; empty for
  /// others: the data tells.
  virtual std::vector<TensorType> batch_types(std::int64_t n) const;

  /// Its name within its parent, empty for a root.
  const std::string& name() const;
  /// Its dotted path from the root, with which the names of its parameters begin; empty for a root.
  const std::string& path() const;

  /// Those of this module, then of the modules within, in the order they were added; each once.
  std::vector<Parameter> parameters() const;
  std::vector<Parameter> buffers() const;
  /// Parameters that are not frozen.
  std::vector<Variable> trainable_variables() const;
  /// Of all parameters and buffers, by dotted name; nullopt if there is none.
  std::optional<Parameter> find(std::string_view name) const;

  /// Elements of the parameters, bytes of parameters and buffers.
  std::int64_t parameter_count() const;
  Bytes bytes() const;

  /// Infers the extents that layers were not told, for inputs of these types: traces forward() and
  /// takes no memory.
  void build(std::span<const TensorType> inputs) const;
  void build(std::initializer_list<TensorType> inputs) const {
    build(std::span<const TensorType>(inputs.begin(), inputs.size()));
  }

  /// False while a layer in it does not know the extents of its parameters, which are not declared
  /// then: it has neither been called nor built.
  bool is_built() const { return first_unbuilt() == nullptr; }
  /// Such a layer, the first of them; null if there is none.
  const Module* first_unbuilt() const;

  /// Allocates and initialises what has no data yet, tagged `parameters`. The values depend on the
  /// seed (nothing said: set_seed()'s) and the names alone. Throws OutOfMemory and is then as
  /// before.
  void materialize(const Device& device, std::optional<std::uint64_t> seed = std::nullopt) const;
  /// Lets all data go.
  void release() const;

  /// Training mode is the default; dropout and batch normalisation differ in evaluation.
  void train(bool on = true) const;
  void eval() const { train(false); }
  bool training() const;

  /// Of all parameters in it.
  void freeze(bool on = true) const;

  const std::vector<std::shared_ptr<Module>>& children() const;
  /// What this module calls them, in the same order.
  const std::vector<std::string>& child_names() const;

 protected:
  /// Declares a tensor of its own. Names are not empty, are used once, and have neither '.' nor
  /// '/'; else InvalidArgument.
  Parameter parameter(std::string_view name, const Shape& shape, const Init& init) const;
  Parameter buffer(std::string_view name, const TensorType& type, const Init& init) const;
  /// Takes a variable that has values: it is trained, saved and named as the module's own, or, if
  /// it is not trainable, saved as a buffer.
  Parameter parameter(std::string_view name, const Variable& variable) const;
  /// Takes a parameter that belongs to no module yet, and names it.
  Parameter parameter(std::string_view name, const Parameter& parameter) const;
  /// Says that its parameters will be declared when its first input is known.
  void declare_later() const;
  /// Uses a parameter of another module as well (tied weights). It keeps its name, and counts once.
  void share(std::string_view name, const Parameter& parameter) const;
  /// One that was declared; null if there is none.
  const Parameter* own(std::string_view name) const;

  /// Puts `module` into this one and returns it. A module that lies in several keeps the name that
  /// the first of them gave it, and is counted once.
  template <std::derived_from<Module> M>
  M add(std::string_view name, M module) const {
    add(name, std::shared_ptr<Module>(std::make_shared<M>(module)));
    return module;
  }
  void add(std::string_view name, std::shared_ptr<Module> module) const;

 private:
  struct State;
  void check_name(std::string_view name) const;
  std::vector<Parameter> all() const;

  std::shared_ptr<State> state_;
};

/// Makes every parameter and buffer of `module` a persistent value of the trace under its name.
void bind(graph::Tracer& tracer, const Module& module);

}  // namespace plimsoll::nn

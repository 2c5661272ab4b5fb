#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/nn/init.h>
#include <plimsoll/tensor/tensor.h>

namespace plimsoll::nn {

/// A tensor that belongs to a module and persists from step to step: declared first, with a type
/// and no data, and allocated by Module::materialize. Reads like its tensor.
class Parameter {
 public:
  Parameter(std::string name, const TensorType& type, const Init& init, bool buffer);
  Parameter(const Parameter&) = delete;
  Parameter& operator=(const Parameter&) = delete;
  ~Parameter();

  /// From the root of the modules it lies in: "layer1.0.conv1.weight".
  const std::string& name() const;
  const Tensor& tensor() const { return tensor_; }
  operator const Tensor&() const { return tensor_; }  // NOLINT: ops take parameters as tensors
  TensorType type() const { return tensor_.type(); }
  const Init& init() const { return init_; }
  /// Not trained, but saved: running statistics.
  bool is_buffer() const { return buffer_; }
  bool has_data() const { return !tensor_.is_symbolic(); }

  /// A frozen parameter gets no gradient and no optimizer state. Buffers are never trainable.
  bool trainable() const { return trainable_ && !buffer_; }
  void set_trainable(bool trainable) { trainable_ = trainable; }

  /// Takes `tensor` as its data. InvalidArgument if it is of another type or has none.
  void set_tensor(Tensor tensor);
  /// Lets its data go; it is declared again.
  void release();

 private:
  friend class Module;
  struct Declared;

  std::shared_ptr<Declared> declared_;
  Tensor tensor_;
  Init init_;
  bool buffer_;
  bool trainable_ = true;
};

/// A piece of a model: named parameters and buffers, modules within it, and what it computes.
///
///   class Perceptron final : public nn::Module {
///    public:
///     Perceptron(std::int64_t in, std::int64_t hidden, std::int64_t out)
///         : first_(add<nn::Dense>("first", in, hidden)),
///           second_(add<nn::Dense>("second", hidden, out)) {}
///     Tensor forward(const Tensor& x) const override { return second_(ops::relu(first_(x))); }
///
///    private:
///     const nn::Dense& first_;
///     const nn::Dense& second_;
///   };
///
/// Making a module allocates nothing: planning a model of any size takes no memory. The same
/// forward() runs eagerly, on a tape and into a trace. Not thread-safe while it is changed; once it
/// has data, any number of threads may run it that do not train.
class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module();

  /// What it computes. Ops of parameters without data can only be traced.
  virtual Tensor forward(const Tensor& x) const = 0;
  /// forward() under the module's name, which traces and messages show: "layer1/0/conv1".
  Tensor operator()(const Tensor& x) const;

  /// Its name within its parent, empty for a root.
  const std::string& name() const { return name_; }

  /// Those of this module, then of the modules within, in the order they were added.
  std::vector<Parameter*> parameters();
  std::vector<const Parameter*> parameters() const;
  std::vector<Parameter*> buffers();
  std::vector<const Parameter*> buffers() const;
  /// Parameters that are not frozen.
  std::vector<const Parameter*> trainable_parameters() const;
  /// Of all parameters and buffers, by dotted name; null if there is none.
  Parameter* find(std::string_view name);

  /// Elements of the parameters, bytes of parameters and buffers.
  std::int64_t parameter_count() const;
  Bytes bytes() const;

  /// Allocates and initialises what has no data yet, tagged `parameters`. The values depend on the
  /// seed and the names alone. Throws OutOfMemory and is then as before.
  void materialize(const Device& device, std::uint64_t seed = 0);
  /// Lets all data go.
  void release();

  /// Training mode is the default; dropout and batch normalisation differ in evaluation.
  void train(bool on = true);
  void eval() { train(false); }
  bool training() const { return training_; }

  /// Of all parameters in it.
  void freeze(bool on = true);

  const std::vector<std::unique_ptr<Module>>& children() const { return children_; }

 protected:
  /// Names are not empty, are used once, and have neither '.' nor '/'; else InvalidArgument.
  Parameter& parameter(std::string_view name, const Shape& shape, const Init& init);
  Parameter& buffer(std::string_view name, const TensorType& type, const Init& init);
  /// Makes a module within this one; it lives as long.
  template <typename M, typename... Args>
  M& add(std::string_view name, Args&&... args) {
    auto made = std::make_unique<M>(std::forward<Args>(args)...);
    M& result = *made;
    adopt(name, std::move(made));
    return result;
  }
  Module& adopt(std::string_view name, std::unique_ptr<Module> module);

 private:
  void check_name(std::string_view name) const;
  /// The dotted name of something called `name` in this module.
  std::string path_of(std::string_view name) const;
  Parameter& declare(std::string_view name, const TensorType& type, const Init& init,
                     bool is_buffer);
  void prefix(const std::string& with);
  template <typename Visit>
  void visit(const Visit& visit) const;

  std::string name_;
  std::string path_;  ///< dotted, from the root
  bool training_ = true;
  std::vector<std::unique_ptr<Parameter>> own_;
  std::vector<std::unique_ptr<Module>> children_;
};

/// Makes every parameter and buffer of `module` a persistent value of the trace under its name.
void bind(graph::Tracer& tracer, const Module& module);

}  // namespace plimsoll::nn

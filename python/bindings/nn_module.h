#pragma once

#include <memory>
#include <string>

#include <nanobind/nanobind.h>

#include <plimsoll/nn/init.h>
#include <plimsoll/nn/module.h>

#include "convert.h"
#include "process.h"

namespace nb = nanobind;

namespace plimsoll::python {

/// A module whose forward() is Python's. Copies are handles of the same module, as for any other;
/// none of them keeps the Python object, which has the strong references to what it is made of.
class PyModule final : public nn::Module {
 public:
  explicit PyModule(nb::handle self);
  Tensor forward(const Tensor& x) const override;
  nn::Tensors forward_all(const nn::Tensors& inputs) const override;
  Tensor loss_all(const nn::Tensors& inputs, const nn::Tensors& targets) const override;
  Tensor loss(const Tensor& input, const Tensor& target) const override;

  /// The Python object. Needs the GIL.
  nb::object object() const { return self_.get(); }

  /// What an assignment to an attribute declares.
  void declare(const std::string& name, std::shared_ptr<nn::Module> module) const;
  void declare(const std::string& name, const nn::Parameter& given) const;
  void declare(const std::string& name, const Variable& variable) const;
  /// Whether it has a parameter or buffer under that name.
  bool declares(const char* name) const { return own(name) != nullptr; }
  /// A method of the Python object; InvalidArgument where it has none.
  nb::object method(const char* name) const;

 private:
  WeakObject self_;
  std::string class_;
};

/// The C++ module of a Python object; TypeError if it is none. Modules that are written in Python
/// are not kept by it: who calls this keeps the Python object where the garbage collector sees it.
std::shared_ptr<nn::Module> as_module(nb::handle value, Where where);

/// More of Module: what it is made of, by name.
void bind_module_tree(nb::class_<nn::Module, PyModule>& cls);

/// An Init, "zeros", "ones", or a number.
nn::Init as_init(nb::handle value, Where where);
std::optional<nn::Init> as_optional_init(nb::handle value, Where where);

}  // namespace plimsoll::python

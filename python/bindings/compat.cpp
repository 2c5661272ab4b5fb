// What plimsoll.compat needs besides: shapes of what a function gives, and ops in a trace that are
// carried out at once.
#include <memory>
#include <utility>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <plimsoll/base/error.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/tf32.h>
#include <plimsoll/ops/variable_reader.h>

#include "bind.h"
#include "convert.h"
#include "process.h"

namespace plimsoll::python {
namespace {

/// The dispatcher of a `with` block.
class Block {
 public:
  virtual ~Block() = default;
  virtual ops::Dispatcher& dispatcher() = 0;
  void enter() {
    use_process();
    scope_ = std::make_unique<ops::DispatchScope>(dispatcher());
  }
  void exit() { scope_.reset(); }

 private:
  std::unique_ptr<ops::DispatchScope> scope_;
};

class EagerBlock final : public Block {
 public:
  ops::Dispatcher& dispatcher() override { return ops::Dispatcher::eager(); }
};

/// Ops of the block have types and no values, and take no memory.
class ShapeBlock final : public Block {
 public:
  ops::Dispatcher& dispatcher() override { return tracer_; }
  Tensor input(DType dtype, const Shape& shape) {
    return tracer_.input("input" + std::to_string(count_++), {dtype, shape});
  }

 private:
  graph::Tracer tracer_;
  int count_ = 0;
};

template <typename B>
nb::class_<B> block(nb::module_& m, const char* name, const char* doc) {
  nb::class_<B> cls(m, name, doc);
  cls.def(nb::init<>())
      .def(
          "__enter__",
          [](nb::object self) {
            nb::cast<B&>(self).enter();
            return self;
          },
          nb::sig(("def __enter__(self) -> " + std::string(name)).c_str()))
      .def(
          "__exit__", [](B& self, nb::args /*raised*/) { self.exit(); },
          nb::sig("def __exit__(self, *raised: object) -> None"));
  return cls;
}

}  // namespace

void bind_compat(nb::module_& m) {
  block<EagerBlock>(m, "_Eager", "Ops of the block run at once, also within a trace or on a tape.");
  block<ShapeBlock>(m, "_Shapes", "Ops of the block have types and no values: shapes are inferred.")
      .def(
          "input",
          [](ShapeBlock& self, nb::handle dtype, nb::handle shape) {
            return self.input(as_dtype(dtype, {"input", "dtype"}),
                              as_shape(shape, {"input", "shape"}));
          },
          nb::arg("dtype"), nb::arg("shape"),
          nb::sig("def input(self, dtype: DType | str, shape: typing.Sequence[int]) -> Tensor"));
  m.def(
      "_tracing",
      [] {
        const ops::VariableReader* reader = ops::VariableReader::current();
        return reader != nullptr && reader->records();
      },
      "Whether ops are recorded here, and not carried out.");
  m.def(
      "_tf32",
      [](bool on) {
        thread_local std::unique_ptr<ops::Tf32Scope> scope;
        scope.reset();
        scope = std::make_unique<ops::Tf32Scope>(on);
      },
      nb::arg("on"), "Whether products of f32 on GPUs may round to TF32, in this thread.");
  m.def(
      "_replace",
      [](const Variable& variable, nb::handle value) {
        const Tensor given = as_tensor(value, {"assign", "value"});
        const Unlocked unlocked;
        variable.set_tensor(given.clone());
      },
      nb::arg("variable"), nb::arg("value"),
      nb::sig("def _replace(variable: Variable, value: Tensor) -> None"),
      "Gives a variable a copy as its data; a tape keeps the old one.");
}

}  // namespace plimsoll::python

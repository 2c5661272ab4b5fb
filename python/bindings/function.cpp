// pm.function: what is traced once and planned. The decorator itself is in plimsoll/function.py.
#include <plimsoll/function/function.h>
#include <plimsoll/function/scan.h>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <plimsoll/plan/plan.h>

#include "bind.h"
#include "convert.h"
#include "process.h"

namespace plimsoll::python {
namespace {

/// Calls Python's `body` with a list of tensors; it gives a list of tensors.
PlannedFunction::Body body_of(const nb::object& body) {
  return [held = hold(body)](const std::vector<Tensor>& inputs) {
    const Locked locked;
    return as_tensors(nb::handle(held.get())(nb::cast(inputs)), {"function", "what it returns"});
  };
}

/// The same of a body that gives (tensors, number).
PlannedFunction::NumberedBody numbered_body_of(const nb::object& body) {
  return [held = hold(body)](const std::vector<Tensor>& inputs) -> PlannedFunction::Numbered {
    const Locked locked;
    const nb::object made = nb::handle(held.get())(nb::cast(inputs));
    return {as_tensors(made[0], {"function", "what it returns"}), nb::cast<std::int64_t>(made[1])};
  };
}

nb::object scanned(nb::object step, nb::handle states, nb::handle xs, nb::handle shared,
                   bool reverse, nb::handle steps) {
  const std::vector<Tensor> first = as_tensors(states, {"scan", "states"});
  const std::vector<Tensor> each = as_tensors(xs, {"scan", "xs"});
  const std::vector<Tensor> all = as_tensors(shared, {"scan", "shared"});
  const ScanOptions options{reverse, as_int(steps, {"scan", "steps"})};
  const auto run = [held = hold(step)](const std::vector<Tensor>& before,
                                       const std::vector<Tensor>& slices,
                                       const std::vector<Tensor>& same) -> ScanStep {
    const Locked locked;
    const nb::object made =
        nb::handle(held.get())(nb::cast(before), nb::cast(slices), nb::cast(same));
    return {as_tensors(made[0], {"scan", "the states that f returns"}),
            as_tensors(made[1], {"scan", "the ys that f returns"})};
  };
  ScanResult result;
  {
    const Unlocked unlocked;
    result = scan(run, first, each, all, options);
  }
  return nb::make_tuple(result.last, result.states, result.ys);
}

}  // namespace

void bind_function(nb::module_& m) {
  m.def("_scan", &scanned, nb::arg("step"), nb::arg("states"), nb::arg("xs"), nb::arg("shared"),
        nb::arg("reverse"), nb::arg("steps"),
        nb::sig("def _scan(step: typing.Callable[[list[Tensor], list[Tensor], list[Tensor]], "
                "tuple[list[Tensor], list[Tensor]]], states: list[typing.Any], xs: "
                "list[typing.Any], shared: list[typing.Any], reverse: bool, steps: int) -> "
                "tuple[list[Tensor], list[Tensor], list[Tensor]]"));
  nb::class_<PlannedFunction>(m, "PlannedFunction")
      .def(
          "__init__",
          [](PlannedFunction* self, const std::string& name, nb::handle device, nb::handle budget,
             std::size_t signatures, nb::handle seed) {
            FunctionOptions options;
            options.name = name;
            options.device = as_optional_device(device, {"function", "device"});
            if (!budget.is_none()) options.budget = as_bytes(budget, {"function", "budget"});
            options.signatures = signatures;
            if (!seed.is_none()) {
              options.seed = static_cast<std::uint64_t>(as_int(seed, {"function", "seed"}));
            }
            new (self) PlannedFunction(options);
          },
          nb::arg("name"), nb::arg("device").none(), nb::arg("budget").none(),
          nb::arg("signatures"), nb::arg("seed").none(),
          nb::sig(
              "def __init__(self, name: str, device: typing.Any, budget: typing.Any, signatures: "
              "int, seed: int | None) -> None"))
      .def(
          "call",
          [](const PlannedFunction& self, nb::handle inputs, nb::object body) {
            const std::vector<Tensor> tensors = as_tensors(inputs, {"function", "its argument"});
            use_process();
            const PlannedFunction::Body traced = body_of(body);
            const Unlocked unlocked;
            return self.call(tensors, traced);
          },
          nb::arg("inputs"), nb::arg("body"),
          nb::sig("def call(self, inputs: list[typing.Any], body: typing.Callable[[list[Tensor]], "
                  "list[Tensor]]) -> list[Tensor]"))
      .def(
          "call_numbered",
          [](const PlannedFunction& self, nb::handle inputs, nb::object body) {
            const std::vector<Tensor> tensors = as_tensors(inputs, {"function", "its argument"});
            use_process();
            const PlannedFunction::NumberedBody traced = numbered_body_of(body);
            PlannedFunction::Numbered results;
            {
              const Unlocked unlocked;
              results = self.call_numbered(tensors, traced);
            }
            return nb::make_tuple(results.tensors, results.number);
          },
          nb::arg("inputs"), nb::arg("body"),
          nb::sig("def call_numbered(self, inputs: list[typing.Any], body: "
                  "typing.Callable[[list[Tensor]], tuple[list[Tensor], int]]) -> "
                  "tuple[list[Tensor], int]"))
      .def(
          "explain",
          [](const PlannedFunction& self, nb::handle inputs, nb::object body) {
            const std::vector<Tensor> tensors = as_tensors(inputs, {"plan", "its argument"});
            const PlannedFunction::NumberedBody traced = numbered_body_of(body);
            const Unlocked unlocked;
            return self.plan_numbered(tensors, traced).explain();
          },
          nb::arg("inputs"), nb::arg("body"),
          nb::sig("def explain(self, inputs: list[typing.Any], body: "
                  "typing.Callable[[list[Tensor]], tuple[list[Tensor], int]]) -> str"))
      .def_prop_ro("signatures", &PlannedFunction::signatures)
      .def_prop_ro("traces", &PlannedFunction::traces);
}

}  // namespace plimsoll::python

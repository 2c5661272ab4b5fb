// What a training run will take.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <plimsoll/plan/device_description.h>
#include <plimsoll/report/plan_picture.h>
#include <plimsoll/train/training_plan.h>

#include "bind.h"

namespace plimsoll::python {
namespace {

nb::dict at_peak(const train::TrainingPlan& plan) {
  nb::dict dict;
  for (const auto& [tag, bytes] : plan.at_peak()) {
    dict[nb::str(tag_name(tag).data(), tag_name(tag).size())] = bytes;
  }
  return dict;
}

std::string html(const train::TrainingPlan& plan) {
  std::string escaped;
  for (const char each : plan.explain()) {
    if (each == '<') {
      escaped += "&lt;";
    } else if (each == '&') {
      escaped += "&amp;";
    } else {
      escaped += each;
    }
  }
  return report::plan_svg(plan) + "<pre>" + escaped + "</pre>";
}

}  // namespace

void bind_plan(nb::module_& m) {
  using train::TrainingPlan;
  nb::class_<TrainingPlan>(
      m, "TrainingPlan",
      "Everything a training run will take, before anything is taken. Printed, "
      "it is a table.")
      .def_ro("budget", &TrainingPlan::budget, "Everything on the device, in bytes.")
      .def_prop_ro(
          "planned_peak", &TrainingPlan::planned_peak,
          "Bytes of memory that training holds at its peak: what is measured, to the byte.")
      .def_prop_ro("total", &TrainingPlan::total, "What the budget is charged with at most.")
      .def_prop_ro("batch", &TrainingPlan::batch)
      .def_prop_ro("parts", &TrainingPlan::parts, "Micro-batches that a batch is split into.")
      .def_ro("input", &TrainingPlan::input, "The limit for input pipelines.")
      .def_ro("runtime", &TrainingPlan::runtime)
      .def_prop_ro("pinned", &TrainingPlan::pinned, "Bytes of pinned host memory.")
      .def_ro("unconstrained_peak", &TrainingPlan::unconstrained_peak,
              "What the peak would be if everything were kept.")
      .def_prop_ro(
          "seconds", [](const TrainingPlan& plan) { return plan.phases.front().seconds(); },
          "Predicted for a step.")
      .def_prop_ro("at_peak", &at_peak, nb::sig("def at_peak(self) -> dict[str, int]"),
                   "Bytes by tag at the peak of a full training batch.")
      .def("explain", &TrainingPlan::explain, "A description for people.")
      .def("to_json", &TrainingPlan::to_json, "The same numbers for programs, as one JSON object.")
      .def("__repr__", &TrainingPlan::explain)
      .def(
          "to_svg", [](const TrainingPlan& plan) { return report::plan_svg(plan); },
          "Its memory over one step as a picture: by tag, with the budget as a line.")
      .def("_repr_html_", &html);
  m.def("known_devices", &plan::known_devices,
        "Names of devices that plans can be made for though they are not here.");
}

}  // namespace plimsoll::python

// Callbacks that the library has, and a run's figures for Prometheus.
#include <plimsoll/train/callbacks.h>

#include <nanobind/stl/string.h>

#include <plimsoll/report/chart.h>
#include <plimsoll/report/live.h>
#include <plimsoll/train/reduce_on_plateau.h>

#include "bind_parts.h"
#include "given.h"

namespace plimsoll::python {

void bind_callbacks(nb::module_& m) {
  nb::class_<train::Callback>(m, "NativeCallback", "A callback that runs without Python.");
  define(
      m, "reduce_on_plateau",
      "*, metric: str = 'validation_loss', factor: float = 0.1, patience: int = 10, min_delta: "
      "float = 0.0001, cooldown: int = 0, min_rate: float = 0.0",
      "NativeCallback",
      "Lowers the learning rate where a metric stops improving, epoch by epoch.\n\n"
      ">>> trainer.fit(train, epochs=30, callbacks=[pm.train.reduce_on_plateau(metric=\"loss\")])",
      [](const Given& given) {
        return nb::cast(train::reduce_on_plateau(
            {given.text("metric"), given.number("factor"), given.integer("patience"),
             given.number("min_delta"), given.integer("cooldown"), given.number("min_rate")}));
      });
  define(m, "chart", "", "NativeCallback",
         "Draws the loss and the memory in use, with characters on stdout, when the run ends.",
         [](const Given& /*given*/) { return nb::cast(report::chart()); });
  nb::class_<report::MetricsServer>(
      m, "MetricsServer",
      "Serves the figures of a run to Prometheus at "
      "http://127.0.0.1:PORT/metrics. It must outlive the fit.\n\n"
      ">>> server = pm.report.MetricsServer()\n"
      ">>> trainer.fit(train, epochs=3, callbacks=[server.callback()])")
      .def(
          "__init__",
          [](report::MetricsServer* self, nb::handle port) {
            new (self)
                report::MetricsServer(static_cast<int>(as_int(port, {"MetricsServer", "port"})));
          },
          nb::arg("port") = 0, nb::sig("def __init__(self, port: int = 0) -> None"),
          "0: any free port.")
      .def_prop_ro("port", &report::MetricsServer::port)
      .def("callback", &report::MetricsServer::callback, nb::keep_alive<0, 1>())
      .def("text", &report::MetricsServer::text, "What the address serves at this moment.");
}

}  // namespace plimsoll::python

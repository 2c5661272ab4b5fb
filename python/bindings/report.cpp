// Runs as their logs tell them: reading, pages and the formats of other tools.
#include <plimsoll/report/run.h>

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <plimsoll/report/exports.h>
#include <plimsoll/report/html.h>

#include "bind_parts.h"
#include "given.h"

namespace plimsoll::python {
namespace {

using report::Run;

/// One run, or a list of them; each a RunReport, or the path of a log or a folder of checkpoints.
std::vector<Run> runs_of(const Given& given) {
  const nb::object value = given.value("runs");
  const auto one = [&](nb::handle each) -> Run {
    Run* run = nullptr;
    if (nb::try_cast(each, run) && run != nullptr) return *run;
    if (!nb::hasattr(each, "__fspath__") && PyUnicode_Check(each.ptr()) == 0) {
      wrong_type(given.where("runs"), each,
                 "it must be what pm.report.read_run(...) gives, or the path of a log");
    }
    const std::string path = as_path(each, given.where("runs"));
    const Unlocked unlocked;
    return report::read_run(path);
  };
  std::vector<Run> runs;
  if (PyList_Check(value.ptr()) != 0 || PyTuple_Check(value.ptr()) != 0) {
    for (nb::handle each : value) runs.push_back(one(each));
  } else {
    runs.push_back(one(value));
  }
  return runs;
}

#define PLIMSOLL_RUNS                                                             \
  "runs: RunReport | str | os.PathLike[str] | typing.Sequence[RunReport | str | " \
  "os.PathLike[str]]"

template <void (*write)(std::span<const Run>, const std::string&)>
void writer(nb::module_& m, const char* name, const char* doc) {
  define(m, name, PLIMSOLL_RUNS ", path: str | os.PathLike[str]", "None", doc,
         [](const Given& given) {
           const std::vector<Run> runs = runs_of(given);
           const std::string path = given.path("path");
           {
             const Unlocked unlocked;
             write(runs, path);
           }
           return nb::object(nb::none());
         });
}

nb::list steps(const Run& run) {
  nb::list list;
  for (const report::RunStep& each : run.steps) {
    nb::dict step;
    step["step"] = each.step;
    step["epoch"] = each.epoch;
    step["time"] = each.time;
    step["loss"] = each.loss;
    step["accuracy"] = each.accuracy;
    step["lr"] = each.lr;
    step["seconds"] = each.seconds;
    step["waited"] = each.waited;
    step["used"] = each.used;
    list.append(step);
  }
  return list;
}

nb::list metrics(const Run& run) {
  nb::list list;
  for (const report::RunMetric& each : run.metrics) {
    nb::dict metric;
    metric["epoch"] = each.epoch;
    metric["name"] = each.name;
    metric["value"] = each.value;
    list.append(metric);
  }
  return list;
}

}  // namespace

void bind_report(nb::module_& m, nb::module_& reports) {
  nb::class_<Run>(m, "RunReport", "A run as its log or its checkpoints tell it.")
      .def_ro("name", &Run::name)
      .def_ro("path", &Run::path)
      .def_prop_ro(
          "state", [](const Run& run) { return std::string(report::state_name(run.state)); },
          "\"finished\", \"running\", \"stopped\", \"failed\", \"killed\", \"refused\"")
      .def_ro("ending", &Run::ending, "Why it was refused or stopped, or the error it failed with.")
      .def_ro("options", &Run::options)
      .def_ro("seconds", &Run::seconds)
      .def_prop_ro("steps", &steps, nb::sig("def steps(self) -> list[dict[str, typing.Any]]"))
      .def_prop_ro("metrics", &metrics, nb::sig("def metrics(self) -> list[dict[str, typing.Any]]"))
      .def_prop_ro("problems",
                   [](const Run& run) {
                     std::vector<std::string> all;
                     for (const auto& each : run.problems) {
                       all.push_back("line " + std::to_string(each.line) + ": " + each.what);
                     }
                     return all;
                   })
      .def_prop_ro("verdict", &Run::verdict, "Whether it kept its budget and its plan.")
      .def("__repr__", [](const Run& run) {
        return "RunReport(" + run.name + ", " + std::string(report::state_name(run.state)) + ")";
      });
  define(reports, "read_run", "path: str | os.PathLike[str]", "RunReport",
         "Reads a run log, or a folder of checkpoints. A log that is damaged gives what is whole.",
         [](const Given& given) {
           const std::string path = given.path("path");
           return computed([&] { return report::read_run(path); });
         });
  define(reports, "read_run_log", "text: str, *, name: str = 'run'", "RunReport",
         "The run in a log's text, or in an out-of-memory report as JSON.", [](const Given& given) {
           const std::string text = given.text("text");
           const std::string name = given.text("name");
           return computed([&] { return report::read_run_log(text, name); });
         });
  define(reports, "html", PLIMSOLL_RUNS ", *, title: str = ''", "str",
         "One self-contained page that shows the runs; several are compared.",
         [](const Given& given) {
           const std::vector<Run> runs = runs_of(given);
           const report::HtmlOptions options{given.text("title")};
           return computed([&] { return report::html(runs, options); });
         });
  define(reports, "write_html", PLIMSOLL_RUNS ", path: str | os.PathLike[str], *, title: str = ''",
         "None",
         "Writes the page that html() makes to a file.\n\n>>> pm.report.write_html(\"run.jsonl\", "
         "\"run.html\")",
         [](const Given& given) {
           const std::vector<Run> runs = runs_of(given);
           const std::string path = given.path("path");
           const report::HtmlOptions options{given.text("title")};
           {
             const Unlocked unlocked;
             report::write_html(runs, path, options);
           }
           return nb::object(nb::none());
         });
  writer<report::write_tensorboard>(reports, "write_tensorboard",
                                    "Event files for TensorBoard, a folder for each run.");
  writer<report::write_perfetto>(reports, "write_perfetto", "A trace for ui.perfetto.dev.");
  writer<report::write_csv>(reports, "write_csv",
                            "steps.csv, memory.csv, metrics.csv and events.csv in a folder.");
  writer<report::write_json>(reports, "write_json", "Everything as one JSON object.");
  define(reports, "write_memory_viz", PLIMSOLL_RUNS ", path: str | os.PathLike[str]", "None",
         "A snapshot for PyTorch's memory viewer: one step of the run's last plan.",
         [](const Given& given) {
           const std::vector<Run> runs = runs_of(given);
           report::write_memory_viz(runs.front(), given.path("path"));
           return nb::object(nb::none());
         });
}

}  // namespace plimsoll::python

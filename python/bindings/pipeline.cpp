// Running datasets.
#include <plimsoll/data/pipeline.h>

#include <memory>
#include <mutex>
#include <set>

#include <nanobind/stl/string.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/default_device.h>

#include "bind.h"
#include "elements.h"
#include "interrupt.h"
#include "pipeline.h"
#include "process.h"
#include "train.h"

namespace plimsoll::python {
namespace {

class Running;

/// All that run: their threads end before the interpreter does.
struct AllRunning {
  std::mutex mutex;
  std::set<Running*> pipelines;
};
AllRunning& all_running() {
  static auto* const all = new AllRunning;  // NOLINT: pipelines may outlive everything
  return *all;
}

class Running {
 public:
  Running(const data::Dataset& set, const Device& device, const data::PipelineOptions& options)
      : pipeline_(std::make_unique<data::Pipeline>(set, device, options)) {
    const std::lock_guard lock(all_running().mutex);
    all_running().pipelines.insert(this);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    {
      const std::lock_guard lock(all_running().mutex);
      all_running().pipelines.erase(this);
    }
    // Its threads may need the GIL to end.
    const Unlocked unlocked;
    pipeline_.reset();
  }

  data::Pipeline& get() {
    if (pipeline_ == nullptr)
      throw Error("[Pipeline] the pipeline is closed; iterate over the dataset again");
    return *pipeline_;
  }
  void close() {
    const Unlocked unlocked;
    pipeline_.reset();
  }

  bool ended = false;

 private:
  std::unique_ptr<data::Pipeline> pipeline_;
};

nb::object next(Running& self) {
  data::Pipeline& pipeline = self.get();
  check_process();
  std::optional<data::Element> element;
  {
    const Interruptible wait([&] { pipeline.cancel(); });
    {
      const Unlocked unlocked;
      element = pipeline.next();
    }
    wait.check();
  }
  if (!element) {
    self.ended = true;
    throw nb::stop_iteration();
  }
  return to_python(*element);
}

nb::dict stats(const data::StageStats& stage) {
  nb::dict dict;
  dict["stage"] = stage.stage;
  dict["depth"] = stage.depth;
  dict["elements"] = stage.elements;
  dict["bytes"] = stage.bytes;
  dict["busy_s"] = stage.busy_s;
  dict["wait_input_s"] = stage.wait_input_s;
  dict["wait_room_s"] = stage.wait_room_s;
  dict["wait_memory_s"] = stage.wait_memory_s;
  dict["held"] = stage.held;
  dict["setting"] = stage.setting;
  return dict;
}

}  // namespace

void stop_all_pipelines() {
  std::set<Running*> pipelines;
  {
    const std::lock_guard lock(all_running().mutex);
    pipelines = all_running().pipelines;
  }
  for (Running* each : pipelines) each->close();
}

void bind_pipeline(nb::module_& m) {
  nb::class_<Running>(m, "_Pipeline", nb::dynamic_attr(), nb::is_weak_referenceable())
      .def(
          "__init__",
          [](Running* self, nb::handle set, nb::handle device, nb::handle limit, int threads,
             nb::handle seed, std::int64_t skip_errors, const std::string& name) {
            const data::Dataset given = as_dataset(set, {"iterate", "dataset"});
            const Device named = as_device(device, {"iterate", "device"});
            // Pipelines run on the host, also where tensors go to a GPU unless something else is
            // said.
            const bool elsewhere = device.is_none() && !named.capabilities().host_memory;
            const Device where = elsewhere ? DefaultDevice::host() : named;
            data::PipelineOptions options;
            if (!limit.is_none()) options.limit = as_bytes(limit, {"iterate", "limit"});
            options.threads = threads;
            options.seed = static_cast<std::uint64_t>(as_int(seed, {"iterate", "seed"}));
            options.skip_errors = skip_errors;
            options.name = name;
            new (self) Running(given, where, options);
          },
          nb::arg("dataset"), nb::arg("device").none(), nb::arg("limit").none(), nb::arg("threads"),
          nb::arg("seed"), nb::arg("skip_errors"), nb::arg("name"),
          nb::sig("def __init__(self, dataset: typing.Any, device: typing.Any, limit: int | str | "
                  "None, threads: int, seed: int, skip_errors: int, name: str) -> None"))
      .def(
          "__iter__", [](nb::object self) { return self; },
          nb::sig("def __iter__(self) -> _Pipeline"))
      .def("__next__", &next, nb::sig("def __next__(self) -> typing.Any"))
      .def_prop_ro("ended", [](const Running& self) { return self.ended; })
      .def("rewind",
           [](Running& self) {
             self.ended = false;
             const Unlocked unlocked;
             self.get().rewind();
           })
      .def("pause",
           [](Running& self) {
             const Unlocked unlocked;
             self.get().pause();
           })
      .def("cancel", [](Running& self) { self.get().cancel(); })
      .def("close", &Running::close)
      .def("save",
           [](Running& self) {
             std::string position;
             {
               const Unlocked unlocked;
               position = self.get().save();
             }
             return nb::bytes(position.data(), position.size());
           })
      .def("restore",
           [](Running& self, const nb::bytes& position) {
             const std::string given(position.c_str(), position.size());
             self.ended = false;
             const Unlocked unlocked;
             self.get().restore(given);
           })
      .def(
          "stats",
          [](Running& self) {
            nb::list list;
            for (const data::StageStats& each : self.get().stats()) list.append(stats(each));
            return list;
          },
          nb::sig("def stats(self) -> list[dict[str, typing.Any]]"))
      .def(
          "bottleneck",
          [](Running& self) -> nb::object {
            const auto found = self.get().bottleneck();
            if (!found) return nb::none();
            return nb::make_tuple(found->stage, found->remedy, found->share);
          },
          nb::sig("def bottleneck(self) -> tuple[str, str, float] | None"))
      .def(
          "skipped",
          [](Running& self) {
            nb::list list;
            for (const data::SkippedElement& each : self.get().skipped()) {
              list.append(nb::make_tuple(each.stage, each.message));
            }
            return list;
          },
          nb::sig("def skipped(self) -> list[tuple[str, str]]"))
      .def_prop_ro("budget", [](Running& self) { return self.get().budget(); });
}

}  // namespace plimsoll::python

// The trainer. plimsoll/train.py has the class that people use.
#include <plimsoll/train/trainer.h>

#include <atomic>
#include <optional>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/seed.h>
#include <plimsoll/plan/device_description.h>
#include <plimsoll/report/progress.h>
#include <plimsoll/train/checkpoint.h>

#include "bind.h"
#include "interrupt.h"
#include "nn_module.h"
#include "optim.h"
#include "process.h"
#include "train.h"

namespace plimsoll::python {
namespace {

using train::Trainer;

/// What Python's keywords are, by name.
class Keywords {
 public:
  Keywords(const char* function, nb::dict values)
      : function_(function), values_(std::move(values)) {}

  nb::object get(const char* name) const {
    return values_.contains(name) ? nb::object(values_[name]) : nb::none();
  }
  void number(const char* name, double& to) const {
    if (const nb::object value = get(name); !value.is_none()) to = as_double(value, where(name));
  }
  void integer(const char* name, std::int64_t& to) const {
    if (const nb::object value = get(name); !value.is_none()) to = as_int(value, where(name));
  }
  void flag(const char* name, bool& to) const {
    if (const nb::object value = get(name); !value.is_none()) to = nb::cast<bool>(nb::bool_(value));
  }
  void bytes(const char* name, Bytes& to) const {
    if (const nb::object value = get(name); !value.is_none()) to = as_bytes(value, where(name));
  }
  void text(const char* name, std::string& to) const {
    if (const nb::object value = get(name); !value.is_none()) to = as_text(value, where(name));
  }
  void path(const char* name, std::string& to) const {
    if (const nb::object value = get(name); !value.is_none()) to = as_path(value, where(name));
  }
  void texts(const char* name, std::vector<std::string>& to) const {
    if (const nb::object value = get(name); !value.is_none()) to = as_texts(value, where(name));
  }
  Where where(const char* name) const { return {function_, name}; }

 private:
  const char* function_;
  nb::dict values_;
};

train::TrainerOptions trainer_options(nb::dict values) {
  const Keywords given("Trainer", std::move(values));
  train::TrainerOptions options;
  options.loss = as_loss(given.get("loss"));
  if (const nb::object optimizer = given.get("optimizer"); !optimizer.is_none()) {
    options.optimizer = as_optimizer(optimizer, given.where("optimizer"));
  }
  if (const nb::object metrics = given.get("metrics"); !metrics.is_none()) {
    options.metrics = as_metrics(metrics);
  }
  options.device = as_device(given.get("device"), given.where("device"));
  std::string precision = "f32";
  given.text("precision", precision);
  options.precision = train::Precision::parse(precision);
  given.texts("inputs", options.inputs);
  given.texts("targets", options.targets);
  if (!given.get("seed").is_none()) {
    std::int64_t seed = 0;
    given.integer("seed", seed);
    options.seed = static_cast<std::uint64_t>(seed);
  }
  given.number("clip_norm", options.clip_norm);
  given.number("clip_value", options.clip_value);
  given.integer("accumulate", options.accumulate);
  given.number("moving_average", options.moving_average);
  given.texts("keep", options.keep);
  given.texts("recompute", options.recompute);
  given.flag("allow_split", options.allow_split);
  given.flag("allow_split_batch_statistics", options.allow_split_batch_statistics);
  given.path("choices", options.choices);
  return options;
}

train::PlanRequest plan_request(nb::dict values) {
  const Keywords given("plan", std::move(values));
  train::PlanRequest request;
  given.integer("batch", request.batch);
  given.integer("validation_batch", request.validation_batch);
  given.bytes("input", request.input);
  given.bytes("decode", request.decode);
  given.bytes("budget", request.budget);
  given.bytes("offload", request.offload);
  request.host = as_optional_device(given.get("host"), given.where("host"));
  return request;
}

data::PipelineOptions pipeline_options(const Keywords& given) {
  data::PipelineOptions options;
  std::int64_t threads = 0;
  given.integer("threads", threads);
  options.threads = static_cast<int>(threads);
  std::int64_t seed = 0;
  given.integer("data_seed", seed);
  options.seed = static_cast<std::uint64_t>(seed);
  given.integer("skip_errors", options.skip_errors);
  return options;
}

train::FitOptions fit_options(nb::dict values, Interrupts& interrupts) {
  const Keywords given("fit", std::move(values));
  train::FitOptions options;
  given.integer("epochs", options.epochs);
  given.integer("steps", options.steps);
  options.callbacks = as_callbacks(given.get("callbacks"), interrupts);
  given.path("checkpoints", options.checkpoints);
  given.integer("checkpoint_steps", options.checkpoint_steps);
  given.integer("checkpoint_epochs", options.checkpoint_epochs);
  std::int64_t kept = options.checkpoints_kept;
  given.integer("checkpoints_kept", kept);
  options.checkpoints_kept = static_cast<int>(kept);
  given.text("best", options.best);
  given.flag("resume", options.resume);
  given.text("early_stopping", options.early_stopping.metric);
  given.integer("patience", options.early_stopping.patience);
  given.number("min_delta", options.early_stopping.min_delta);
  given.integer("measure_after", options.measure_after);
  given.flag("allow_nonfinite_loss", options.allow_nonfinite_loss);
  given.path("stop_checkpoints", options.stop_checkpoints);
  options.host = as_optional_device(given.get("host"), given.where("host"));
  options.pipeline = pipeline_options(given);
  bool progress = false;
  given.flag("progress", progress);
  if (progress) options.callbacks.push_back(report::progress());
  return options;
}

train::FitResult fit(Trainer& self, nb::handle train, nb::handle validation, nb::handle plan,
                     nb::dict values) {
  const data::Dataset set = as_dataset(train, {"fit", "train"});
  const auto held_out = as_optional_dataset(validation, {"fit", "validation"});
  std::string path;
  Keywords("fit", values).path("log", path);
  RunLog log = path.empty() ? RunLog() : RunLog(path);
  Interrupts interrupts;
  train::FitOptions options = fit_options(std::move(values), interrupts);
  options.log = &log;
  options.stop = &interrupts.stop;
  train::TrainingPlan* given = nullptr;
  if (!plan.is_none() && (!nb::try_cast(plan, given) || given == nullptr)) {
    wrong_type({"fit", "plan"}, plan, "it must be what trainer.plan(...) gives");
  }
  const Interruptible wait([&] { interrupts.stop = true; });
  train::FitResult result;
  {
    const Unlocked unlocked;
    result = given != nullptr ? self.fit(*given, set, held_out, options)
                              : self.fit(set, held_out, options);
  }
  if (interrupts.stop) {
    nb::module_::import_("plimsoll.train").attr("_note_interrupt")(result);
  }
  wait.check();
  if (interrupts.raised) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
  }
  return result;
}

nb::object predict(Trainer& self, nb::args inputs) {
  nn::Tensors tensors;
  for (nb::handle each : inputs) tensors.push_back(as_tensor(each, {"predict", "its input"}));
  nn::Tensors outputs;
  {
    const Unlocked unlocked;
    outputs = self.predict(tensors);
  }
  if (outputs.size() == 1) return nb::cast(outputs.front());
  return nb::cast(outputs);
}

}  // namespace

void bind_trainer(nb::module_& m) {
  nb::class_<Trainer>(m, "_Trainer")
      .def(
          "__init__",
          [](Trainer* self, nb::handle model, nb::dict options) {
            const std::shared_ptr<nn::Module> module = as_module(model, {"Trainer", "model"});
            new (self) Trainer(nn::Model(module), trainer_options(std::move(options)));
          },
          nb::arg("model"), nb::arg("options"),
          nb::sig("def __init__(self, model: Module, options: dict[str, typing.Any]) -> None"))
      .def(
          "plan",
          [](const Trainer& self, nb::handle train, nb::handle validation, nb::dict values) {
            const data::Dataset set = as_dataset(train, {"plan", "train"});
            const auto held_out = as_optional_dataset(validation, {"plan", "validation"});
            const train::PlanRequest request = plan_request(std::move(values));
            const Unlocked unlocked;
            return self.plan(set, held_out, request);
          },
          nb::arg("train"), nb::arg("validation").none(), nb::arg("options"),
          nb::sig("def plan(self, train: typing.Any, validation: typing.Any, options: dict[str, "
                  "typing.Any]) -> TrainingPlan"))
      .def(
          "plan_for",
          [](const Trainer& self, nb::handle device, nb::dict values) {
            const train::PlanRequest request = plan_request(std::move(values));
            if (PyUnicode_Check(device.ptr()) != 0) {
              const std::string name = as_text(device, {"plan", "device"});
              if (name.rfind("cuda", 0) != 0 && name.rfind("cpu", 0) != 0) {
                const plan::DeviceDescription described = plan::describe_device(name);
                const Unlocked unlocked;
                return self.plan(request, described);
              }
            }
            const Device here =
                device.is_none() ? *self.options().device : as_device(device, {"plan", "device"});
            const Unlocked unlocked;
            return self.plan(request, here);
          },
          nb::arg("device").none(), nb::arg("options"),
          nb::sig("def plan_for(self, device: typing.Any, options: dict[str, typing.Any]) -> "
                  "TrainingPlan"))
      .def("fit", &fit, nb::arg("train"), nb::arg("validation").none(), nb::arg("plan").none(),
           nb::arg("options"),
           nb::sig("def fit(self, train: typing.Any, validation: typing.Any, plan: TrainingPlan | "
                   "None, options: dict[str, typing.Any]) -> History"))
      .def(
          "step",
          [](Trainer& self, const train::TrainingPlan& plan, const nb::args& given) {
            nn::Tensors batch;
            for (nb::handle each : given) {
              const std::string which = "argument " + std::to_string(batch.size() + 1);
              batch.push_back(as_tensor(each, {"step", which.c_str()}));
            }
            const Unlocked unlocked;
            self.step(plan, batch);
          },
          nb::arg("plan"), nb::arg("batch"),
          nb::sig("def step(self, plan: TrainingPlan, *batch: Tensor) -> None"))
      .def("loss",
           [](const Trainer& self) {
             const Unlocked unlocked;
             return self.loss();
           })
      .def("wait",
           [](const Trainer& self) {
             const Unlocked unlocked;
             self.wait();
           })
      .def(
          "evaluate",
          [](Trainer& self, nb::handle dataset, nb::dict values) {
            const data::Dataset set = as_dataset(dataset, {"evaluate", "dataset"});
            const Keywords given("evaluate", std::move(values));
            const data::PipelineOptions options = pipeline_options(given);
            const auto host = as_optional_device(given.get("host"), given.where("host"));
            return run_interruptibly([&] { return self.evaluate(set, options, host); });
          },
          nb::arg("dataset"), nb::arg("options"),
          nb::sig("def evaluate(self, dataset: typing.Any, options: dict[str, typing.Any]) -> "
                  "dict[str, float]"))
      .def("predict", &predict,
           nb::sig("def predict(self, *inputs: Tensor | Variable) -> typing.Any"))
      .def(
          "predict_dataset",
          [](Trainer& self, nb::handle dataset) {
            const data::Dataset set = as_dataset(dataset, {"predict", "dataset"});
            const nn::Tensors outputs = run_interruptibly([&] { return self.predict_all(set); });
            return outputs.size() == 1 ? nb::cast(outputs.front()) : nb::cast(outputs);
          },
          nb::arg("dataset"),
          nb::sig("def predict_dataset(self, dataset: typing.Any) -> typing.Any"))
      .def("release",
           [](Trainer& self) {
             const Unlocked unlocked;
             self.release();
           })
      .def_prop_ro("optimizer", [](Trainer& self) { return self.optimizer(); })
      .def_prop_ro(
          "device", [](const Trainer& self) { return self.options().device; },
          nb::sig("def device(self) -> Device"))
      .def(
          "save",
          [](Trainer& self, nb::handle path, const std::map<std::string, std::string>& metadata) {
            const std::string file = as_path(path, {"save", "path"});
            const Unlocked unlocked;
            self.wait();
            if (self.model().parameters().empty()) {
              throw InvalidArgument(
                  "[save] the model has no parameters yet; train it first, or build() it: "
                  "net.build((1, 64))");
            }
            train::save_checkpoint(file, {&self.model(), &self.optimizer()}, metadata);
          },
          nb::arg("path"), nb::arg("metadata"),
          nb::sig("def save(self, path: typing.Any, metadata: dict[str, str]) -> None"))
      .def(
          "load",
          [](Trainer& self, nb::handle path, bool strict) {
            const std::string file = as_path(path, {"load", "path"});
            const Unlocked unlocked;
            // The state is the optimizer's once it knows its parameters.
            if (self.optimizer().parameters().empty()) {
              if (const auto trained = self.model().trainable_variables(); !trained.empty()) {
                self.optimizer().attach(trained);
              }
            }
            return train::load_checkpoint(file, {&self.model(), &self.optimizer()},
                                          *self.options().device, {.strict = strict});
          },
          nb::arg("path"), nb::arg("strict"),
          nb::sig("def load(self, path: typing.Any, strict: bool) -> dict[str, str]"));
}

}  // namespace plimsoll::python

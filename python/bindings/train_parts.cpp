// Losses, metrics and callbacks that are written in Python.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "bind.h"
#include "process.h"
#include "train.h"

namespace plimsoll::python {
namespace {

nb::object one_or_tuple(const nn::Tensors& tensors) {
  if (tensors.size() == 1) return nb::cast(tensors.front());
  nb::list list;
  for (const Tensor& each : tensors) list.append(each);
  return nb::tuple(list);
}

/// A run as Python has it: callbacks may keep it for longer than there is one.
class SeenRun {
 public:
  explicit SeenRun(std::shared_ptr<train::Run*> run) : run_(std::move(run)) {}
  train::Run& get() const {
    if (*run_ != nullptr) return **run_;
    throw InvalidArgument(
        "[Run] the run has ended; let the callback keep the numbers that you need, and not the "
        "run");
  }
  std::string to_string() const {
    if (*run_ == nullptr) return "Run(ended)";
    return fmt::format("Run(step {}, epoch {})", get().step(), get().epoch());
  }

 private:
  std::shared_ptr<train::Run*> run_;
};

/// What Get of the run gives.
template <auto Get>
auto of_run(const SeenRun& self) {
  return (self.get().*Get)();
}

/// What the callbacks of one run share: it ends with the last of them.
class SharedRun {
 public:
  SharedRun() = default;
  SharedRun(const SharedRun&) = delete;
  SharedRun& operator=(const SharedRun&) = delete;
  ~SharedRun() { *run_ = nullptr; }
  nb::object seen(train::Run& run) const {
    *run_ = &run;
    return nb::cast(SeenRun(run_));
  }

 private:
  std::shared_ptr<train::Run*> run_ = std::make_shared<train::Run*>(nullptr);
};

using Hook = std::function<void(train::Run&)>;
Hook hook(const Callable& callback, nb::handle object, const char* name,
          const std::shared_ptr<SharedRun>& shared, Interrupts& interrupts) {
  if (!nb::hasattr(object, name)) return nullptr;
  return [callback, name, shared, &interrupts](train::Run& run) {
    const Locked locked;
    try {
      callback.get().attr(name)(shared->seen(run));
    } catch (nb::python_error& error) {
      // Ctrl-C while the callback ran: the run ends as it does anywhere else, with a checkpoint.
      if (!error.matches(PyExc_KeyboardInterrupt)) throw;
      interrupts.raised = interrupts.stop = true;
    }
  };
}

/// What checkpoints keep of an object that has state_dict() and load_state_dict(state).
void keep_state(train::Callback& made, const Callable& callback, nb::handle object) {
  if (!nb::hasattr(object, "state_dict") || !nb::hasattr(object, "load_state_dict")) return;
  made.name = nb::cast<std::string>(object.type().attr("__name__"));
  made.save = [callback] {
    const Locked locked;
    const nb::object state = callback.get().attr("state_dict")();
    const Where where{"Callback", "what state_dict() returns"};
    if (PyDict_Check(state.ptr()) == 0) wrong_type(where, state, "it must be a dict of numbers");
    train::Callback::State numbers;
    for (const auto& [name, value] : nb::cast<nb::dict>(state)) {
      numbers[as_text(name, where)] = as_double(value, where);
    }
    return numbers;
  };
  made.restore = [callback](const train::Callback::State& state) {
    const Locked locked;
    callback.get().attr("load_state_dict")(nb::cast(state));
  };
}

}  // namespace

train::Loss as_loss(nb::handle value) {
  if (value.is_none()) return {};
  if (PyUnicode_Check(value.ptr()) != 0) return {as_text(value, {"Trainer", "loss"})};
  return {[call = Callable(value)](const nn::Tensors& outputs, const nn::Tensors& targets) {
    const Locked locked;
    return as_tensor(call.get()(one_or_tuple(outputs), one_or_tuple(targets)),
                     {"Trainer", "what the loss function returns"});
  }};
}

std::vector<train::Metric> as_metrics(nb::handle value) {
  std::vector<train::Metric> metrics;
  for (nb::handle each : value) {
    if (PyUnicode_Check(each.ptr()) != 0) {
      metrics.emplace_back(as_text(each, {"Trainer", "metrics"}));
      continue;
    }
    train::MetricDef def;
    def.name = as_text(nb::object(each.attr("name")), {"Metric", "name"});
    def.higher_is_better = nb::cast<bool>(each.attr("higher_is_better"));
    def.sums = [call = Callable(each.attr("_sums"))](const Tensor& prediction,
                                                     const Tensor& target) {
      const Locked locked;
      return as_tensor(call.get()(prediction, target), {"Metric", "what sums() returns"});
    };
    if (!each.attr("_result").is_none()) {
      def.result = [call = Callable(each.attr("_result"))](std::span<const double> totals) {
        const Locked locked;
        nb::list list;
        for (const double total : totals) list.append(total);
        return as_double(call.get()(list), {"Metric", "what result() returns"});
      };
    }
    metrics.emplace_back(std::move(def));
  }
  return metrics;
}

std::vector<train::Callback> as_callbacks(nb::handle value, Interrupts& interrupts) {
  std::vector<train::Callback> callbacks;
  const auto shared = std::make_shared<SharedRun>();
  for (nb::handle each : value) {
    const Callable callback(each);
    const nb::object object = callback.get();
    train::Callback* native = nullptr;
    if (nb::try_cast(object, native) && native != nullptr) {
      callbacks.push_back(*native);
      continue;
    }
    const auto calls = [&](const char* name) {
      return hook(callback, object, name, shared, interrupts);
    };
    callbacks.push_back(
        {calls("on_begin"), calls("on_step"), calls("on_epoch"), calls("on_end"), false});
    keep_state(callbacks.back(), callback, object);
  }
  return callbacks;
}

void bind_train_parts(nb::module_& m) {
  using train::Run;
  nb::class_<SeenRun>(m, "Run",
                      "A run as its callbacks see it, between two steps. Once it has ended, only "
                      "its repr() is left.")
      .def_prop_ro("step", &of_run<&Run::step>,
                   "Steps finished, over all resumed parts of the run.")
      .def_prop_ro("epoch", &of_run<&Run::epoch>, "Epochs finished.")
      .def_prop_ro("total_steps", &of_run<&Run::total_steps>, "0 where the data does not tell.")
      .def_prop_ro("epoch_steps", &of_run<&Run::epoch_steps>)
      .def_prop_ro("loss", &of_run<&Run::loss>, "The loss of the last step.")
      .def_prop_ro("accuracy", &of_run<&Run::accuracy>,
                   "Share of the last step's labels that were right; None without logits.")
      .def_prop_ro("rate", &of_run<&Run::rate>, "The learning rate of the next step.")
      .def_prop_ro("batch", &of_run<&Run::batch>)
      .def_prop_ro("elements", &of_run<&Run::elements>, "Elements trained on since fit() began.")
      .def_prop_ro("seconds", &of_run<&Run::seconds>)
      .def_prop_ro("metrics", &of_run<&Run::metrics>, "The metrics of the last epoch that ended.")
      .def_prop_ro("device", &of_run<&Run::device>)
      .def(
          "stop", [](const SeenRun& self, const std::string& why) { self.get().stop(why); },
          nb::arg("why") = "a callback stopped it",
          "Ends the run once the other callbacks have been called.")
      .def("__repr__", &SeenRun::to_string);

  using train::FitResult;
  nb::class_<FitResult>(m, "History", "What a call of fit() did.")
      .def_ro("losses", &FitResult::losses, "The loss of every step.")
      .def_ro("epochs", &FitResult::history, "The metrics of every epoch, by name.")
      .def_ro("steps", &FitResult::steps)
      .def_ro("seconds", &FitResult::seconds)
      .def_ro("planned_peak", &FitResult::planned_peak, "Bytes that the plan promised.")
      .def_ro("measured_peak", &FitResult::measured_peak, "Bytes that training held.")
      .def_ro("charged_peak", &FitResult::charged_peak,
              "The most that the device's budget was charged with.")
      .def_ro("replans", &FitResult::replans)
      .def_ro("stopped", &FitResult::stopped, "Why it ended before its time; empty if it did not.")
      .def_ro("checkpoint", &FitResult::checkpoint, "The last checkpoint that was written.")
      .def(
          "__getitem__",
          [](const FitResult& self, nb::handle key) {
            const std::string name = as_text(key, {"History", "the name of a metric"});
            std::vector<double> values;
            for (const train::Metrics& epoch : self.history) {
              const auto it = epoch.find(name);
              if (it != epoch.end()) values.push_back(it->second);
            }
            if (values.empty()) {
              std::string known;
              if (!self.history.empty()) {
                for (const auto& [each, value] : self.history.front()) known += " " + each;
              }
              throw nb::key_error(("there is no '" + name + "'; there are:" + known).c_str());
            }
            return values;
          },
          nb::arg("name"), nb::sig("def __getitem__(self, name: str) -> list[float]"),
          "A metric by epoch: history[\"validation_accuracy\"].")
      .def(
          "keys",
          [](const FitResult& self) {
            nb::list names;
            if (self.history.empty()) return names;
            for (const auto& [name, value] : self.history.front()) names.append(name);
            return names;
          },
          nb::sig("def keys(self) -> list[str]"), "The names of the metrics: dict(history).")
      .def(
          "__iter__", [](nb::handle self) { return nb::iter(self.attr("keys")()); },
          nb::sig("def __iter__(self) -> typing.Iterator[str]"))
      .def(
          "__contains__",
          [](nb::handle self, nb::handle name) {
            return PySequence_Contains(nb::object(self.attr("keys")()).ptr(), name.ptr()) == 1;
          },
          nb::arg("name"), nb::sig("def __contains__(self, name: object) -> bool"))
      .def("__len__", [](const FitResult& self) { return self.history.size(); })
      .def("__repr__", [](const FitResult& self) {
        std::ostringstream out;
        out << "History(" << self.history.size()
            << (self.history.size() == 1 ? " epoch, " : " epochs, ") << self.steps
            << (self.steps == 1 ? " step" : " steps");
        if (!self.history.empty()) {
          for (const auto& [name, value] : self.history.back()) out << ", " << name << " " << value;
        }
        out << ")";
        return out.str();
      });
}

}  // namespace plimsoll::python

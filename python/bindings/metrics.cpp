// What models are measured by, in loops of one's own.
#include <plimsoll/nn/metrics.h>

#include <sstream>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <plimsoll/nn/counts.h>

#include "bind_parts.h"
#include "given.h"

namespace plimsoll::python {
namespace {

void bind_functions(nb::module_& nn) {
  define(nn, "accuracy", "logits: Tensor | Variable, labels: Tensor | Variable", "Tensor",
         "The share of rows of logits whose largest is at the label.", [](const Given& given) {
           const Tensor logits = given.tensor("logits");
           const Tensor labels = given.tensor("labels");
           return computed([&] { return nn::accuracy(logits, labels); });
         });
  define(nn, "top_k_accuracy", "logits: Tensor | Variable, labels: Tensor | Variable, k: int",
         "Tensor", "The share of rows whose label is among the k largest.", [](const Given& given) {
           const Tensor logits = given.tensor("logits");
           const Tensor labels = given.tensor("labels");
           const std::int64_t k = given.integer("k");
           return computed([&] { return nn::top_k_accuracy(logits, labels, k); });
         });
  define(nn, "binary_counts",
         "logits: Tensor | Variable, targets: Tensor | Variable, *, threshold: float = 0.5",
         "Tensor", "[4]: true positives, false positives, false negatives, true negatives.",
         [](const Given& given) {
           const Tensor logits = given.tensor("logits");
           const Tensor targets = given.tensor("targets");
           const double threshold = given.number("threshold");
           return computed([&] { return nn::binary_counts(logits, targets, threshold); });
         });
  define(nn, "roc_counts",
         "logits: Tensor | Variable, targets: Tensor | Variable, *, bins: int = 200", "Tensor",
         "[2 * bins]: how many positive, then negative targets got a probability in each bin.",
         [](const Given& given) {
           const Tensor logits = given.tensor("logits");
           const Tensor targets = given.tensor("targets");
           const std::int64_t bins = given.integer("bins");
           return computed([&] { return nn::roc_counts(logits, targets, bins); });
         });
  define(nn, "confusion_counts", "logits: Tensor | Variable, labels: Tensor | Variable", "Tensor",
         "[classes, classes]: how many rows with each label (down) were said to be each class.",
         [](const Given& given) {
           const Tensor logits = given.tensor("logits");
           const Tensor labels = given.tensor("labels");
           return computed([&] { return nn::confusion_counts(logits, labels); });
         });
  define(nn, "auc", "totals: typing.Sequence[float]", "float",
         "The area under the ROC curve, from what roc_counts() add up to.\n\n"
         ">>> pm.nn.auc(pm.nn.roc_counts(logits, targets).tolist())",
         [](const Given& given) {
           const std::vector<double> totals = given.numbers("totals");
           return nb::cast(nn::auc(totals));
         });
}

}  // namespace

void bind_metrics(nb::module_& m, nb::module_& nn) {
  bind_functions(nn);
  nb::class_<nn::BinaryCounts>(m, "BinaryCounts", "One class against all others.")
      .def(
          "__init__",
          [](nn::BinaryCounts* self, const std::vector<double>& totals) {
            new (self) nn::BinaryCounts(nn::BinaryCounts::of(totals));
          },
          nb::arg("totals"), nb::sig("def __init__(self, totals: typing.Sequence[float]) -> None"),
          "From the four numbers that binary_counts() add up to.")
      .def_ro("true_positives", &nn::BinaryCounts::true_positives)
      .def_ro("false_positives", &nn::BinaryCounts::false_positives)
      .def_ro("false_negatives", &nn::BinaryCounts::false_negatives)
      .def_ro("true_negatives", &nn::BinaryCounts::true_negatives)
      .def_prop_ro("precision", &nn::BinaryCounts::precision)
      .def_prop_ro("recall", &nn::BinaryCounts::recall)
      .def_prop_ro("f1", &nn::BinaryCounts::f1)
      .def_prop_ro("accuracy", &nn::BinaryCounts::accuracy)
      .def("__repr__", [](const nn::BinaryCounts& self) {
        std::ostringstream text;
        text << "BinaryCounts(precision " << self.precision() << ", recall " << self.recall()
             << ", f1 " << self.f1() << ")";
        return text.str();
      });
  nb::class_<nn::Mean>(m, "Mean", "A mean that is kept up over steps, on the device.")
      .def(
          "__init__",
          [](nn::Mean* self, nb::handle device) {
            new (self) nn::Mean(as_device(device, {"Mean", "device"}));
          },
          nb::arg("device").none() = nb::none(),
          nb::sig("def __init__(self, device: Device | Session | str | None = None) -> None"))
      .def(
          "update",
          [](nn::Mean& self, nb::handle value, nb::handle weight) {
            const Tensor given = as_tensor(value, {"update", "value"});
            const double times = as_double(weight, {"update", "weight"});
            const Unlocked unlocked;
            self.update(given, times);
          },
          nb::arg("value"), nb::arg("weight") = 1.0,
          nb::sig("def update(self, value: Tensor | Variable, weight: float = 1.0) -> None"),
          "Counts `value`, an f32 scalar, `weight` times.")
      .def("result", &nn::Mean::result, nb::call_guard<Unlocked>(),
           "NaN while nothing was counted.")
      .def("reset", &nn::Mean::reset, nb::call_guard<Unlocked>())
      .def("__repr__", [](const nn::Mean& self) {
        const Unlocked unlocked;
        std::ostringstream text;
        text << "Mean(" << self.result() << ")";
        return text.str();
      });
  nb::class_<nn::ConfusionMatrix>(m, "ConfusionMatrix",
                                  "A confusion matrix that is kept up over batches, on the "
                                  "device: labels down, predictions across.\n\n"
                                  ">>> matrix = pm.nn.ConfusionMatrix(10)\n"
                                  ">>> matrix.update(net(x), labels)\n"
                                  ">>> matrix.of(3).precision")
      .def(
          "__init__",
          [](nn::ConfusionMatrix* self, nb::handle classes, nb::handle device) {
            new (self) nn::ConfusionMatrix(as_int(classes, {"ConfusionMatrix", "classes"}),
                                           as_device(device, {"ConfusionMatrix", "device"}));
          },
          nb::arg("classes"), nb::arg("device").none() = nb::none(),
          nb::sig("def __init__(self, classes: int, device: Device | Session | str | None = None) "
                  "-> None"))
      .def(
          "update",
          [](nn::ConfusionMatrix& self, nb::handle logits, nb::handle labels) {
            const Tensor given = as_tensor(logits, {"update", "logits"});
            const Tensor wanted = as_tensor(labels, {"update", "labels"});
            const Unlocked unlocked;
            self.update(given, wanted);
          },
          nb::arg("logits"), nb::arg("labels"),
          nb::sig("def update(self, logits: Tensor | Variable, labels: Tensor | Variable) -> None"))
      .def("reset", &nn::ConfusionMatrix::reset, nb::call_guard<Unlocked>())
      .def_prop_ro("counts", &nn::ConfusionMatrix::counts)
      .def("of", &nn::ConfusionMatrix::of, nb::arg("label"), "One class against all others.")
      .def_prop_ro("accuracy", &nn::ConfusionMatrix::accuracy,
                   "The share of rows on the diagonal; NaN without any.")
      .def("__repr__", [](const nn::ConfusionMatrix& self) {
        const Unlocked unlocked;
        std::ostringstream text;
        text << "ConfusionMatrix(accuracy " << self.accuracy() << ")";
        return text.str();
      });
}

}  // namespace plimsoll::python

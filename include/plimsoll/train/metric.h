#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::train {

/// A number about predictions that is streamed over batches: each batch gives some sums, and the
/// sums of all batches give the number. It never needs more than one batch at a time.
///
///   {.metrics = {"accuracy", "top_5_accuracy"}}
///   {.metrics = {"accuracy", pm::train::MetricDef{.name = "bias",
///                 .sums = [](const pm::Tensor& y, const pm::Tensor& t) { return ...; },  // [2]
///                 .result = [](std::span<const double> s) { return s[0] / s[1]; }}}}
struct MetricDef {
  std::string name;
  /// Of a batch: an f32 tensor [k], or one number.
  std::function<Tensor(const Tensor& prediction, const Tensor& target)> sums;
  /// On the host, from the totals of all batches; null: the first total by the number of elements.
  std::function<double(std::span<const double> totals)> result = nullptr;
  bool higher_is_better = false;
};

class Metric {
 public:
  /// "accuracy", "top_K_accuracy" with a number K, "precision", "recall", "f1" (of one logit for
  /// each target, else means over the classes), "auc", "perplexity", "mean_squared_error",
  /// "mean_absolute_error", "root_mean_squared_error", "r2"; InvalidArgument for another.
  Metric(const std::string& name);                         // NOLINT: {.metrics = {"accuracy"}}
  Metric(const char* name) : Metric(std::string(name)) {}  // NOLINT: as above
  /// InvalidArgument without a name or sums.
  Metric(MetricDef def);  // NOLINT: as above

  const std::string& name() const { return def_.name; }
  bool higher_is_better() const { return def_.higher_is_better; }
  /// Of a batch: f32 [k].
  Tensor sums(const Tensor& prediction, const Tensor& target) const;
  /// From the totals of `count` elements.
  double result(std::span<const double> totals, double count) const;

 private:
  MetricDef def_;
};

}  // namespace plimsoll::train

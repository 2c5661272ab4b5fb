#include <plimsoll/train/metric.h>

#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/counts.h>
#include <plimsoll/nn/losses.h>
#include <plimsoll/nn/metrics.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/softmax.h>

namespace plimsoll::train {
namespace {

/// A mean over rows or elements as a sum, which the number of elements divides.
MetricDef mean_of(std::string name, std::function<Tensor(const Tensor&, const Tensor&)> mean) {
  return {.name = std::move(name),
          .sums = [mean = std::move(mean)](const Tensor& prediction, const Tensor& target) {
            return ops::scale(mean(prediction, target), static_cast<double>(prediction.dim(0)));
          }};
}

/// Of labels, those that are ignored left out: right ones and all.
MetricDef share_of(std::string name, std::function<Tensor(const Tensor&, const Tensor&)> counts) {
  return {.name = std::move(name),
          .sums = std::move(counts),
          .result = [](std::span<const double> s) { return s[1] == 0 ? 0 : s[0] / s[1]; },
          .higher_is_better = true};
}

/// [k], of k scalars.
Tensor list(const std::vector<Tensor>& numbers) {
  std::vector<Tensor> rows;
  for (const Tensor& each : numbers) {
    rows.push_back(ops::reshape(ops::cast(each, DType::f32), Shape{1}));
  }
  return ops::concat(rows, 0);
}

/// Of a classifier: of two classes by one logit each, where predictions and targets have one shape;
/// else the mean over all classes, each against the others.
MetricDef of_counts(std::string name, double (nn::BinaryCounts::*value)() const) {
  return {
      .name = std::move(name),
      .sums =
          [](const Tensor& prediction, const Tensor& target) {
            if (prediction.shape() == target.shape()) {
              return nn::binary_counts(prediction, target);
            }
            const Tensor matrix = nn::confusion_counts(prediction, target);
            const std::int64_t classes = matrix.dim(0);
            const Tensor right = ops::sum(
                ops::mul(matrix, ops::one_hot(ops::arange(classes, DType::i64, matrix), classes)),
                {.axes = {0}});
            // An odd one in front tells the two apart.
            return ops::concat({ops::full_like_type(right, {DType::f32, {1}}, 0), right,
                                ops::sum(matrix, {.axes = {0}}), ops::sum(matrix, {.axes = {1}})},
                               0);
          },
      .result =
          [value](std::span<const double> totals) {
            if (totals.size() == 4) return (nn::BinaryCounts::of(totals).*value)();
            const std::size_t classes = (totals.size() - 1) / 3;
            double sum = 0;
            for (std::size_t c = 0; c < classes; ++c) {
              const double right = totals[1 + c];
              sum += (nn::BinaryCounts{right, totals[1 + classes + c] - right,
                                       totals[1 + 2 * classes + c] - right, 0}.*
                      value)();
            }
            return sum / static_cast<double>(classes);
          },
      .higher_is_better = true};
}

MetricDef perplexity() {
  return {.name = "perplexity",
          .sums =
              [](const Tensor& logits, const Tensor& labels) {
                const Tensor ignored = ops::full_like_type(labels, {labels.dtype(), {}},
                                                           static_cast<double>(ops::kIgnoreLabel));
                const Tensor counted = ops::cast(ops::not_equal(labels, ignored), DType::f32);
                return list({ops::sum(ops::cross_entropy(logits, labels)), ops::sum(counted)});
              },
          .result = [](std::span<const double> s) { return std::exp(s[0] / s[1]); }};
}

MetricDef root_mean_squared_error() {
  return {.name = "root_mean_squared_error",
          .sums =
              [](const Tensor& prediction, const Tensor& target) {
                const Tensor n = ops::full_like_type(prediction, {DType::f32, {}},
                                                     static_cast<double>(prediction.dim(0)));
                return list({ops::mul(nn::mean_squared_error(prediction, target), n), n});
              },
          .result = [](std::span<const double> s) { return std::sqrt(s[0] / s[1]); }};
}

/// The share of the targets' variance that predictions explain.
MetricDef r2() {
  return {
      .name = "r2",
      .sums =
          [](const Tensor& prediction, const Tensor& target) {
            const Tensor y = ops::cast(target, DType::f32);
            const auto count = static_cast<double>(y.elements());
            const Tensor apart = nn::mean_squared_error(prediction, target);
            return list({ops::scale(apart, count), ops::sum(y), ops::sum(ops::square(y)),
                         ops::full_like_type(y, {DType::f32, {}}, count)});
          },
      .result = [](std::span<const double> s) { return 1 - s[0] / (s[2] - s[1] * s[1] / s[3]); },
      .higher_is_better = true};
}

MetricDef area_under_curve() {
  return {.name = "auc",
          .sums =
              [](const Tensor& logits, const Tensor& targets) {
                if (logits.shape() != targets.shape()) {
                  throw InvalidArgument(fmt::format(
                      "[auc] predictions have shape {}, targets {}; it takes one logit for each "
                      "target of 0 or 1, so both have the same shape, such as [{},1]",
                      logits.shape().to_string(), targets.shape().to_string(),
                      logits.rank() > 0 ? logits.dim(0) : 1));
                }
                return nn::roc_counts(logits, targets);
              },
          .result = nn::auc,
          .higher_is_better = true};
}

MetricDef metric_by_name(const std::string& name) {
  const auto mean_squared = [](const Tensor& x, const Tensor& y) {
    return nn::mean_squared_error(x, y);
  };
  const auto mean_absolute = [](const Tensor& x, const Tensor& y) {
    return nn::mean_absolute_error(x, y);
  };
  if (name == "accuracy") return share_of(name, nn::accuracy_counts);
  if (name == "mean_squared_error") return mean_of(name, mean_squared);
  if (name == "mean_absolute_error") return mean_of(name, mean_absolute);
  if (name == "root_mean_squared_error") return root_mean_squared_error();
  if (name == "r2") return r2();
  if (name == "precision") return of_counts(name, &nn::BinaryCounts::precision);
  if (name == "recall") return of_counts(name, &nn::BinaryCounts::recall);
  if (name == "f1") return of_counts(name, &nn::BinaryCounts::f1);
  if (name == "auc") return area_under_curve();
  if (name == "perplexity") return perplexity();
  constexpr std::string_view kTop = "top_";
  if (name.starts_with(kTop) && name.ends_with("_accuracy")) {
    std::int64_t k = 0;
    const char* end = name.data() + name.size() - std::string_view("_accuracy").size();
    const auto [at, error] = std::from_chars(name.data() + kTop.size(), end, k);
    if (error == std::errc() && at == end && k > 0) {
      return share_of(name, [k](const Tensor& logits, const Tensor& labels) {
        return nn::top_k_accuracy_counts(logits, labels, k);
      });
    }
  }
  throw InvalidArgument(fmt::format(
      "[Metric] there is no metric '{}'; there are accuracy, top_5_accuracy (any "
      "number), precision, recall, f1, auc, perplexity, mean_squared_error, "
      "mean_absolute_error, root_mean_squared_error and r2, or give a metric of your own",
      name));
}

}  // namespace

Metric::Metric(const std::string& name) : def_(metric_by_name(name)) {}

Metric::Metric(MetricDef def) : def_(std::move(def)) {
  if (def_.name.empty()) throw InvalidArgument("[Metric] it has no name");
  if (!def_.sums) {
    throw InvalidArgument(fmt::format("[Metric] {} has no function for its sums", def_.name));
  }
}

Tensor Metric::sums(const Tensor& prediction, const Tensor& target) const {
  const Tensor all = ops::cast(def_.sums(prediction, target), DType::f32);
  if (all.rank() > 1) {
    throw InvalidArgument(fmt::format("[Metric] the sums of {} are {}; give a number or a list",
                                      def_.name, all.type().to_string()));
  }
  return all.rank() == 1 ? all : ops::reshape(all, Shape{1});
}

double Metric::result(std::span<const double> totals, double count) const {
  return def_.result ? def_.result(totals) : totals.front() / count;
}

}  // namespace plimsoll::train

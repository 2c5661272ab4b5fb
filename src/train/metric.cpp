#include <plimsoll/train/metric.h>

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/losses.h>
#include <plimsoll/nn/metrics.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::train {
namespace {

/// A mean over rows or elements as a sum, which the number of elements divides.
MetricDef mean_of(std::string name, std::function<Tensor(const Tensor&, const Tensor&)> mean,
                  bool higher_is_better) {
  return {.name = std::move(name),
          .sums =
              [mean = std::move(mean)](const Tensor& prediction, const Tensor& target) {
                return ops::scale(mean(prediction, target), static_cast<double>(prediction.dim(0)));
              },
          .higher_is_better = higher_is_better};
}

MetricDef by_name(const std::string& name) {
  if (name == "accuracy") return mean_of(name, nn::accuracy, true);
  if (name == "mean_squared_error") return mean_of(name, nn::mean_squared_error, false);
  if (name == "mean_absolute_error") return mean_of(name, nn::mean_absolute_error, false);
  constexpr std::string_view kTop = "top_";
  if (name.starts_with(kTop) && name.ends_with("_accuracy")) {
    std::int64_t k = 0;
    const char* end = name.data() + name.size() - std::string_view("_accuracy").size();
    const auto [at, error] = std::from_chars(name.data() + kTop.size(), end, k);
    if (error == std::errc() && at == end && k > 0) {
      return mean_of(
          name,
          [k](const Tensor& logits, const Tensor& labels) {
            return nn::top_k_accuracy(logits, labels, k);
          },
          true);
    }
  }
  throw InvalidArgument(
      fmt::format("[Metric] there is no metric '{}'; there are accuracy, top_5_accuracy (any "
                  "number), mean_squared_error and mean_absolute_error, or give {{.name, .sums}}",
                  name));
}

}  // namespace

Metric::Metric(const std::string& name) : def_(by_name(name)) {}

Metric::Metric(MetricDef def) : def_(std::move(def)) {
  if (def_.name.empty()) throw InvalidArgument("[Metric] it has no name");
  if (!def_.sums) {
    throw InvalidArgument(fmt::format("[Metric] {} has no function for its sums", def_.name));
  }
}

std::vector<Tensor> Metric::sums(const Tensor& prediction, const Tensor& target) const {
  const Tensor all = ops::cast(def_.sums(prediction, target), DType::f32);
  if (all.rank() > 1) {
    throw InvalidArgument(fmt::format("[Metric] the sums of {} are {}; give a number or a list",
                                      def_.name, all.type().to_string()));
  }
  std::vector<Tensor> each;
  if (all.rank() == 0) return {all};
  for (std::int64_t i = 0; i < all.elements(); ++i) {
    each.push_back(ops::reshape(ops::slice(all, 0, i, i + 1), Shape{}));
  }
  return each;
}

double Metric::result(std::span<const double> totals, double count) const {
  return def_.result ? def_.result(totals) : totals.front() / count;
}

}  // namespace plimsoll::train

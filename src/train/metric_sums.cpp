#include "train/metric_sums.h"

#include <algorithm>

#include <plimsoll/graph/graph.h>

namespace plimsoll::train {

OutputSizes output_sizes(const Phase& phase) {
  OutputSizes all{.names = phase.outputs};
  const graph::Graph& graph = *phase.steps.front()->graph;
  for (const graph::ValueId output : graph.outputs()) {
    all.sizes.push_back(static_cast<std::size_t>(graph.value(output).type.shape.elements()));
    all.count += all.sizes.back();
  }
  return all;
}

void add(MetricSums& sums, const OutputSizes& outputs, std::size_t first,
         std::span<const float> numbers, std::int64_t size) {
  std::size_t at = 0;
  for (std::size_t i = first; i < outputs.names.size(); ++i) {
    std::vector<double>& all = sums[outputs.names[i]];
    all.resize(outputs.sizes[i]);
    for (double& sum : all) {
      sum += static_cast<double>(numbers[at++]) * static_cast<double>(size);
    }
  }
}

double metric_result(const std::string& name, std::span<const double> totals, std::int64_t count,
                     const std::vector<Metric>& metrics) {
  const auto elements = static_cast<double>(count);
  const auto metric = std::ranges::find(metrics, name, &Metric::name);
  if (metric != metrics.end()) return metric->result(totals, elements);
  // Checkpoints of earlier versions have one sum.
  if (name == "accuracy" && totals.size() > 1) return Metric(name).result(totals, elements);
  return totals.front() / elements;
}

Metrics results(const MetricSums& sums, std::int64_t count, const std::vector<Metric>& metrics) {
  Metrics all;
  for (const auto& [name, totals] : sums) all[name] = metric_result(name, totals, count, metrics);
  return all;
}

}  // namespace plimsoll::train

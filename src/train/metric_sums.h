#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <plimsoll/train/callbacks.h>
#include <plimsoll/train/metric.h>
#include <plimsoll/train/training_plan.h>

namespace plimsoll::train {

/// Over the elements seen so far: the loss, and the sums of each metric, by name.
using MetricSums = std::map<std::string, std::vector<double>>;

/// The outputs of a phase: names, and how many numbers each has.
struct OutputSizes {
  std::vector<std::string> names;
  std::vector<std::size_t> sizes;
  std::size_t count = 0;  ///< of all numbers
};

OutputSizes output_sizes(const Phase& phase);

/// Adds the numbers of a batch of `size` elements, in the order of `outputs` from `first` on.
void add(MetricSums& sums, const OutputSizes& outputs, std::size_t first,
         std::span<const float> numbers, std::int64_t size);

/// What the sums of `name` over `count` elements are: what the metric makes of them, or a mean.
/// "accuracy", which a step gives where no metrics are asked for, is always a metric.
double metric_result(const std::string& name, std::span<const double> totals, std::int64_t count,
                     const std::vector<Metric>& metrics);

/// The same of all.
Metrics results(const MetricSums& sums, std::int64_t count, const std::vector<Metric>& metrics);

}  // namespace plimsoll::train

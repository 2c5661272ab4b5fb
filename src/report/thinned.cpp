#include <algorithm>
#include <cmath>
#include <limits>

#include "report/page_data.h"

namespace plimsoll::report {
namespace {

/// A mean over those of two that are numbers, by weight.
double mean(double a, double weight_a, double b, double weight_b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  return (a * weight_a + b * weight_b) / (weight_a + weight_b);
}

RunStep merged_steps(const RunStep& a, const RunStep& b) {
  const auto count_a = static_cast<double>(a.steps);
  const auto count_b = static_cast<double>(b.steps);
  RunStep both = b;
  // A loss that is not a number must not vanish in a mean.
  both.loss = (a.loss * count_a + b.loss * count_b) / (count_a + count_b);
  both.loss_min = std::fmin(a.loss_min, b.loss_min);
  both.loss_max = std::fmax(a.loss_max, b.loss_max);
  both.accuracy = mean(a.accuracy, count_a, b.accuracy, count_b);
  both.lr = mean(a.lr, count_a, b.lr, count_b);
  both.seconds = mean(a.seconds, count_a, b.seconds, count_b);
  both.waited = mean(a.waited, count_a, b.waited, count_b);
  both.elements = a.elements + b.elements;
  both.used = std::max(a.used, b.used);
  both.steps = a.steps + b.steps;
  return both;
}

}  // namespace

std::vector<std::size_t> thinned(const std::vector<RunMemory>& memory, std::size_t most) {
  std::vector<std::size_t> kept;
  if (memory.size() <= most) {
    for (std::size_t i = 0; i < memory.size(); ++i) kept.push_back(i);
    return kept;
  }
  const std::size_t stretches = std::max<std::size_t>(1, most / 3);
  for (std::size_t s = 0; s < stretches; ++s) {
    const std::size_t begin = memory.size() * s / stretches;
    const std::size_t end = memory.size() * (s + 1) / stretches;
    std::size_t high = begin;
    std::size_t low = begin;
    std::size_t system = begin;
    for (std::size_t i = begin; i < end; ++i) {
      if (memory[i].used > memory[high].used) high = i;
      if (memory[i].used < memory[low].used) low = i;
      if (memory[i].system > memory[system].system) system = i;
      if (i > 0 && memory[i].limit != memory[i - 1].limit) kept.push_back(i);
    }
    kept.insert(kept.end(), {high, low, system});
  }
  kept.push_back(0);
  kept.push_back(memory.size() - 1);
  std::ranges::sort(kept);
  const auto twice = std::ranges::unique(kept);
  kept.erase(twice.begin(), twice.end());
  return kept;
}

std::vector<RunStep> thinned(const std::vector<RunStep>& steps, std::size_t most) {
  if (steps.size() <= most || most == 0) return steps;
  std::vector<RunStep> all;
  all.reserve(most);
  for (std::size_t s = 0; s < most; ++s) {
    const std::size_t begin = steps.size() * s / most;
    const std::size_t end = steps.size() * (s + 1) / most;
    RunStep sum = steps[begin];
    for (std::size_t i = begin + 1; i < end; ++i) sum = merged_steps(sum, steps[i]);
    all.push_back(sum);
  }
  return all;
}

}  // namespace plimsoll::report

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace plimsoll::optim {

/// The learning rate as a function of the step, which counts from 0. A value; copies are alike.
/// Thread-safe.
///
///   optim::Schedule rate = optim::Schedule::cosine(0.1, 10'000).warm_up(500);
class Schedule {
 public:
  /// The same at every step. InvalidArgument unless it is finite and not negative.
  Schedule(double rate);  // NOLINT: {.lr = 0.1} should read like that

  /// Multiplied by `factor` every `every` steps.
  static Schedule step(double rate, std::int64_t every, double factor = 0.1);
  /// From `rate` to `last` along half a cosine over `steps`, and `last` from there on.
  static Schedule cosine(double rate, std::int64_t steps, double last = 0);
  /// The same again and again, each time over `factor` times as many steps: Loshchilov and Hutter
  /// 2016.
  static Schedule warm_restarts(double rate, std::int64_t steps, double factor = 1,
                                double last = 0);
  /// last + (rate - last) (1 - step / steps)^power, and `last` from there on; power 1 is a line.
  static Schedule polynomial(double rate, std::int64_t steps, double last = 0, double power = 1);
  /// Multiplied by `factor` over every `steps` steps, a little in each.
  static Schedule exponential(double rate, double factor, std::int64_t steps = 1);
  /// rates[i] before step boundaries[i], the last one from then on. Boundaries rise, and there is
  /// one less than rates.
  static Schedule piecewise(std::vector<std::int64_t> boundaries, std::vector<double> rates);
  /// Smith and Topin 2017: from highest / start up to `highest` over the share `rise` of the steps,
  /// then down to highest / start / end, along half a cosine each.
  static Schedule one_cycle(double highest, std::int64_t steps, double rise = 0.3,
                            double start = 25, double end = 1e4);
  /// Any function; `name` goes into messages and reports.
  static Schedule custom(std::function<double(std::int64_t step)> rate, std::string name);

  /// Rises in equal parts over the first `steps` steps, reaching this schedule's first value in the
  /// last of them; this schedule begins after that.
  Schedule warm_up(std::int64_t steps) const;

  double at(std::int64_t step) const { return rate_(step); }
  /// "cosine from 0.1 to 0 over 10000 steps, warmed up over 500"
  const std::string& to_string() const { return name_; }

 private:
  Schedule(std::function<double(std::int64_t)> rate, std::string name);
  std::function<double(std::int64_t)> rate_;
  std::string name_;
};

}  // namespace plimsoll::optim

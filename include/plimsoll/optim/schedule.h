#pragma once

#include <cstdint>
#include <functional>
#include <string>

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

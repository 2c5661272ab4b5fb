#include <plimsoll/optim/schedule.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll::optim {
namespace {

double checked(double rate) {
  if (!std::isfinite(rate) || rate < 0) {
    throw InvalidArgument(
        fmt::format("[Schedule] a learning rate of {}; it must be 0 or more, and finite", rate));
  }
  return rate;
}

std::int64_t checked(std::int64_t steps) {
  if (steps < 1) {
    throw InvalidArgument(fmt::format("[Schedule] {} steps; there must be at least one", steps));
  }
  return steps;
}

double checked_above_zero(const char* what, double value) {
  if (!(value > 0) || !std::isfinite(value)) {
    throw InvalidArgument(
        fmt::format("[Schedule] {} is {}; it must be above 0, and finite", what, value));
  }
  return value;
}

/// From `first` to `last` along half a cosine, `done` from 0 to 1.
double half_cosine(double first, double last, double done) {
  return last + (first - last) * 0.5 * (1 + std::cos(std::numbers::pi * done));
}

}  // namespace

Schedule::Schedule(std::function<double(std::int64_t)> rate, std::string name)
    : rate_(std::move(rate)), name_(std::move(name)) {}

Schedule::Schedule(double rate)
    : Schedule([r = checked(rate)](std::int64_t) { return r; }, fmt::format("{}", rate)) {}

Schedule Schedule::step(double rate, std::int64_t every, double factor) {
  checked(rate);
  checked(every);
  checked(factor);
  return {[=](std::int64_t step) {
            const std::int64_t times = step / every;
            return rate * std::pow(factor, static_cast<double>(times));
          },
          fmt::format("{} times {} every {} steps", rate, factor, every)};
}

Schedule Schedule::cosine(double rate, std::int64_t steps, double last) {
  checked(rate);
  checked(steps);
  checked(last);
  return {[=](std::int64_t step) {
            const double done =
                std::min(1.0, static_cast<double>(step) / static_cast<double>(steps));
            return half_cosine(rate, last, done);
          },
          fmt::format("cosine from {} to {} over {} steps", rate, last, steps)};
}

Schedule Schedule::warm_restarts(double rate, std::int64_t steps, double factor, double last) {
  checked(rate);
  checked(steps);
  checked(last);
  if (!(factor >= 1) || !std::isfinite(factor)) {
    throw InvalidArgument(
        fmt::format("[Schedule] a factor of {} between restarts; it must be at least 1", factor));
  }
  return {[=](std::int64_t step) {
            auto at = static_cast<double>(step);
            auto length = static_cast<double>(steps);
            if (factor == 1) {
              at = static_cast<double>(step % steps);
            } else {
              while (at >= length) {
                at -= length;
                length *= factor;
              }
            }
            return half_cosine(rate, last, at / length);
          },
          fmt::format("cosine from {} to {} over {} steps, restarted", rate, last, steps)};
}

Schedule Schedule::polynomial(double rate, std::int64_t steps, double last, double power) {
  checked(rate);
  checked(steps);
  checked(last);
  checked_above_zero("the power", power);
  return {
      [=](std::int64_t step) {
        const double left =
            1 - std::min(1.0, static_cast<double>(step) / static_cast<double>(steps));
        return last + (rate - last) * std::pow(left, power);
      },
      fmt::format("polynomial of power {} from {} to {} over {} steps", power, rate, last, steps)};
}

Schedule Schedule::exponential(double rate, double factor, std::int64_t steps) {
  checked(rate);
  checked(steps);
  checked_above_zero("the factor", factor);
  return {[=](std::int64_t step) {
            return rate * std::pow(factor, static_cast<double>(step) / static_cast<double>(steps));
          },
          fmt::format("{} times {} over every {} steps", rate, factor, steps)};
}

Schedule Schedule::piecewise(std::vector<std::int64_t> boundaries, std::vector<double> rates) {
  if (rates.size() != boundaries.size() + 1) {
    throw InvalidArgument(
        fmt::format("[Schedule] {} rates for {} boundaries; there is one rate "
                    "more than boundaries",
                    rates.size(), boundaries.size()));
  }
  for (const double rate : rates) checked(rate);
  for (std::size_t i = 0; i < boundaries.size(); ++i) {
    if (boundaries[i] < 1 || (i > 0 && boundaries[i] <= boundaries[i - 1])) {
      throw InvalidArgument(fmt::format(
          "[Schedule] boundary {} is step {}; boundaries are above 0, and rise", i, boundaries[i]));
    }
  }
  std::string name = fmt::format("{}", rates[0]);
  for (std::size_t i = 0; i < boundaries.size(); ++i) {
    name += fmt::format(", {} from step {}", rates[i + 1], boundaries[i]);
  }
  return {[boundaries = std::move(boundaries), rates = std::move(rates)](std::int64_t step) {
            const auto past = std::ranges::upper_bound(boundaries, step) - boundaries.begin();
            return rates[static_cast<std::size_t>(past)];
          },
          std::move(name)};
}

Schedule Schedule::one_cycle(double highest, std::int64_t steps, double rise, double start,
                             double end) {
  checked(highest);
  checked(steps);
  checked_above_zero("the divisor of the first rate", start);
  checked_above_zero("the divisor of the last rate", end);
  if (!(rise > 0 && rise < 1)) {
    throw InvalidArgument(
        fmt::format("[Schedule] a rise over {} of the steps; it must be in (0, 1)", rise));
  }
  return {[=](std::int64_t step) {
            const double first = highest / start;
            // The step with the highest rate, which need not be a whole one.
            const double top = std::max(rise * static_cast<double>(steps) - 1, 0.0);
            const double last = static_cast<double>(steps) - 1;
            const double at = std::min(static_cast<double>(step), last);
            if (at < top) return half_cosine(first, highest, at / top);
            const double down = last > top ? (at - top) / (last - top) : 1;
            return half_cosine(highest, first / end, down);
          },
          fmt::format("one cycle up to {} over {} steps", highest, steps)};
}

Schedule Schedule::custom(std::function<double(std::int64_t)> rate, std::string name) {
  if (!rate) throw InvalidArgument("[Schedule] no function was given");
  return {std::move(rate), std::move(name)};
}

Schedule Schedule::warm_up(std::int64_t steps) const {
  checked(steps);
  return {[steps, after = rate_](std::int64_t step) {
            if (step >= steps) return after(step - steps);
            return after(0) * static_cast<double>(step + 1) / static_cast<double>(steps);
          },
          fmt::format("{}, warmed up over {}", name_, steps)};
}

}  // namespace plimsoll::optim

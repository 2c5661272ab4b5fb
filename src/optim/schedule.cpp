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
            return last + (rate - last) * 0.5 * (1 + std::cos(std::numbers::pi * done));
          },
          fmt::format("cosine from {} to {} over {} steps", rate, last, steps)};
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

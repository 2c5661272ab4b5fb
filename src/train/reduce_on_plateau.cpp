#include <plimsoll/train/reduce_on_plateau.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/train/trainer.h>

namespace plimsoll::train {
namespace {

struct Seen {
  double best = std::numeric_limits<double>::infinity();
  std::int64_t without = 0;  ///< epochs since it improved
  std::int64_t cooling = 0;

  Callback::State state() const {
    Callback::State state = {{"without", static_cast<double>(without)},
                             {"cooling", static_cast<double>(cooling)}};
    if (std::isfinite(best)) state["best"] = best;
    return state;
  }
  static Seen of(const Callback::State& state) {
    Seen seen;
    if (const auto best = state.find("best"); best != state.end()) seen.best = best->second;
    if (const auto some = state.find("without"); some != state.end()) {
      seen.without = static_cast<std::int64_t>(some->second);
    }
    if (const auto some = state.find("cooling"); some != state.end()) {
      seen.cooling = static_cast<std::int64_t>(some->second);
    }
    return seen;
  }
};

void check_plateau(const ReduceOnPlateauOptions& options) {
  if (!(options.factor > 0 && options.factor < 1)) {
    throw InvalidArgument(
        fmt::format("[reduce_on_plateau] factor is {}; it must be in (0, 1)", options.factor));
  }
  if (options.patience < 0 || options.cooldown < 0 || !(options.min_delta >= 0) ||
      !(options.min_rate >= 0)) {
    throw InvalidArgument(
        fmt::format("[reduce_on_plateau] patience {}, cooldown {}, min_delta {}, "
                    "min_rate {}: none may be negative",
                    options.patience, options.cooldown, options.min_delta, options.min_rate));
  }
}

double metric_of(const Run& run, const std::string& name) {
  const auto found = run.metrics().find(name);
  if (found == run.metrics().end()) {
    std::string names;
    for (const auto& [each, value] : run.metrics()) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", each);
    }
    throw InvalidArgument(
        fmt::format("[reduce_on_plateau] there is no metric '{}'; there are {}", name, names));
  }
  return found->second;
}

void reduce(Run& run, const ReduceOnPlateauOptions& options) {
  optim::Optimizer& optimizer = run.trainer().optimizer();
  const double rate = optimizer.rate();
  if (rate <= options.min_rate) return;
  const double lowered = std::max(rate * options.factor, options.min_rate);
  optimizer.set_rate_factor(optimizer.rate_factor() * lowered / rate);
}

}  // namespace

Callback reduce_on_plateau(const ReduceOnPlateauOptions& options) {
  check_plateau(options);
  const double sign = options.metric.ends_with("accuracy") ? -1 : 1;
  const auto seen = std::make_shared<Seen>();
  const auto look = [options, sign, seen](Run& run) {
    const double value = sign * metric_of(run, options.metric);
    if (value < seen->best - options.min_delta) {
      seen->best = value;
      seen->without = 0;
    } else {
      ++seen->without;
    }
    if (seen->cooling > 0) {
      --seen->cooling;
      seen->without = 0;
    }
    if (seen->without <= options.patience) return;
    reduce(run, options);
    seen->cooling = options.cooldown;
    seen->without = 0;
  };
  return {.on_epoch = look,
          .name = "reduce_on_plateau " + options.metric,
          .save = [seen] { return seen->state(); },
          .restore = [seen](const Callback::State& state) { *seen = Seen::of(state); }};
}

}  // namespace plimsoll::train

// The rules behind optim/optimizer.h: each hands its state to an op of ops/update.h.
#include <utility>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/update.h>
#include <plimsoll/optim/optimizer.h>

#include "optim/checks.h"

namespace plimsoll::optim {
namespace {

class SgdRule final : public Rule {
 public:
  explicit SgdRule(const ops::SgdOptions& options) : options_(options) {}
  std::string_view name() const override { return "sgd"; }
  std::vector<Kept> state_of(const TensorType& type) const override {
    if (options_.momentum == 0) return {};
    return {{"momentum", type}};
  }
  void apply(const Update& u) const override {
    ops::SgdOptions options = options_;
    options.weight_decay *= u.weight_decay_factor;
    ops::sgd_update(u.parameter, u.state.empty() ? Tensor() : u.state[0], u.gradient, u.rate,
                    options, u.enable);
  }

 private:
  ops::SgdOptions options_;
};

class AdamRule final : public Rule {
 public:
  explicit AdamRule(const ops::AdamOptions& options) : options_(options) {}
  std::string_view name() const override { return options_.decoupled ? "adamw" : "adam"; }
  std::vector<Kept> state_of(const TensorType& type) const override {
    return {{"exp_avg", type}, {"exp_avg_sq", type}};
  }
  void apply(const Update& u) const override {
    ops::AdamOptions options = options_;
    options.weight_decay *= u.weight_decay_factor;
    ops::adam_update(u.parameter, u.state[0], u.state[1], u.gradient, u.rate, u.step, options,
                     u.enable);
  }

 private:
  ops::AdamOptions options_;
};

class RmspropRule final : public Rule {
 public:
  explicit RmspropRule(const ops::RmspropOptions& options) : options_(options) {}
  std::string_view name() const override { return "rmsprop"; }
  std::vector<Kept> state_of(const TensorType& type) const override {
    if (options_.momentum == 0) return {{"square_avg", type}};
    return {{"square_avg", type}, {"momentum", type}};
  }
  void apply(const Update& u) const override {
    ops::RmspropOptions options = options_;
    options.weight_decay *= u.weight_decay_factor;
    ops::rmsprop_update(u.parameter, u.state[0], u.state.size() > 1 ? u.state[1] : Tensor(),
                        u.gradient, u.rate, options, u.enable);
  }

 private:
  ops::RmspropOptions options_;
};

Optimizer make_adam(const AdamOptions& options, bool decoupled) {
  const std::string_view who = decoupled ? "adamw" : "adam";
  check_share(who, "beta1", options.beta1);
  check_share(who, "beta2", options.beta2);
  check_positive(who, "epsilon", options.epsilon);
  check_positive(who, "weight_decay", options.weight_decay);
  return {std::make_unique<AdamRule>(ops::AdamOptions{.beta1 = options.beta1,
                                                      .beta2 = options.beta2,
                                                      .epsilon = options.epsilon,
                                                      .weight_decay = options.weight_decay,
                                                      .decoupled = decoupled}),
          options.lr, options.groups};
}

}  // namespace

Optimizer sgd(const SgdOptions& options) {
  check_share("sgd", "momentum", options.momentum);
  check_positive("sgd", "weight_decay", options.weight_decay);
  if (options.nesterov && options.momentum == 0) {
    throw InvalidArgument("[sgd] nesterov needs a momentum above 0");
  }
  return {std::make_unique<SgdRule>(ops::SgdOptions{.momentum = options.momentum,
                                                    .nesterov = options.nesterov,
                                                    .weight_decay = options.weight_decay}),
          options.lr, options.groups};
}

Optimizer adam(const AdamOptions& options) { return make_adam(options, false); }
Optimizer adamw(const AdamOptions& options) { return make_adam(options, true); }

Optimizer rmsprop(const RmspropOptions& options) {
  check_share("rmsprop", "decay", options.decay);
  check_share("rmsprop", "momentum", options.momentum);
  check_positive("rmsprop", "epsilon", options.epsilon);
  check_positive("rmsprop", "weight_decay", options.weight_decay);
  return {std::make_unique<RmspropRule>(ops::RmspropOptions{.decay = options.decay,
                                                            .epsilon = options.epsilon,
                                                            .momentum = options.momentum,
                                                            .weight_decay = options.weight_decay}),
          options.lr, options.groups};
}

}  // namespace plimsoll::optim

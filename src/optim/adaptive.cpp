// Adagrad, lazy Adam, Adadelta, Nadam, Lion, LAMB.
#include <plimsoll/optim/adaptive.h>

#include <plimsoll/ops/reduce.h>

#include "optim/checks.h"
#include "optim/written_rule.h"

namespace plimsoll::optim {
namespace {

class AdagradRule final : public Rule {
 public:
  explicit AdagradRule(const AdagradOptions& options) : options_(options) {}
  std::string_view name() const override { return "adagrad"; }
  std::vector<Kept> state_of(const TensorType& type) const override {
    return {{"sum", type, options_.initial_accumulator}};
  }
  void apply(const Update& u) const override {
    ops::adagrad_update(u.parameter, u.state[0], u.gradient, u.rate, u.step,
                        {.lr_decay = options_.lr_decay,
                         .epsilon = options_.epsilon,
                         .weight_decay = options_.weight_decay * u.weight_decay_factor},
                        u.enable);
  }

 private:
  AdagradOptions options_;
};

class LazyAdamRule final : public Rule {
 public:
  explicit LazyAdamRule(const ops::AdamOptions& options) : options_(options) {}
  std::string_view name() const override { return "lazy_adam"; }
  std::vector<Kept> state_of(const TensorType& type) const override {
    return {{"exp_avg", type}, {"exp_avg_sq", type}};
  }
  void apply(const Update& u) const override {
    const auto update = u.parameter.rank() >= 2 ? ops::lazy_adam_update : ops::adam_update;
    update(u.parameter, u.state[0], u.state[1], u.gradient, u.rate, u.step, options_, u.enable);
  }

 private:
  ops::AdamOptions options_;
};

class AdadeltaRule final : public Rule {
 public:
  explicit AdadeltaRule(const AdadeltaOptions& options) : options_(options) {}
  std::string_view name() const override { return "adadelta"; }
  std::vector<Kept> state_of(const TensorType& type) const override {
    return {{"square_avg", type}, {"acc_delta", type}};
  }
  void apply(const Update& u) const override {
    const Tensor g = decayed_gradient(u, options_.weight_decay);
    const Tensor squares = moved(u.state[0], ops::square(g), options_.rho);
    const Tensor root = ops::sqrt(
        ops::div(ops::shift(u.state[1], options_.epsilon), ops::shift(squares, options_.epsilon)));
    const Tensor change = ops::mul(root, g);
    const Tensor steps = moved(u.state[1], ops::square(change), options_.rho);
    write(u.parameter, ops::sub(u.parameter, ops::mul(change, rate_of(u))), u.enable);
    write(u.state[0], squares, u.enable);
    write(u.state[1], steps, u.enable);
  }

 private:
  AdadeltaOptions options_;
};

class NadamRule final : public Rule {
 public:
  explicit NadamRule(const NadamOptions& options) : options_(options) {}
  std::string_view name() const override { return "nadam"; }
  std::vector<Kept> state_of(const TensorType& type) const override {
    return {{"exp_avg", type}, {"exp_avg_sq", type}, {"mu_product", {type.dtype, {}}, 1}};
  }
  void apply(const Update& u) const override {
    const Tensor g = decayed_gradient(u, options_.weight_decay);
    const DType dtype = g.dtype();
    const Tensor step = ops::cast(u.step, dtype);
    // beta1 (1 - 0.96^(step * decay) / 2), of this step and of the next.
    const auto mu = [&](const Tensor& at) {
      const Tensor power = ops::exp(ops::scale(at, options_.momentum_decay * std::log(0.96)));
      return ops::scale(ops::shift(ops::scale(power, -0.5), 1), options_.beta1);
    };
    const Tensor now = mu(step);
    const Tensor next = mu(ops::shift(step, 1));
    const Tensor product = ops::mul(u.state[2], now);
    const Tensor first = moved(u.state[0], g, options_.beta1);
    const Tensor second = moved(u.state[1], ops::square(g), options_.beta2);
    const Tensor corrected = ops::div(second, correction(step, options_.beta2, dtype));
    const Tensor root = ops::shift(ops::sqrt(corrected), options_.epsilon);
    const auto one_less = [](const Tensor& x) { return ops::shift(ops::neg(x), 1); };
    const Tensor by_gradient = ops::div(one_less(now), one_less(product));
    const Tensor by_momentum = ops::div(next, one_less(ops::mul(product, next)));
    const Tensor both = ops::add(ops::mul(g, by_gradient), ops::mul(first, by_momentum));
    const Tensor change = ops::mul(ops::div(both, root), rate_of(u));
    write(u.parameter, ops::sub(u.parameter, change), u.enable);
    write(u.state[0], first, u.enable);
    write(u.state[1], second, u.enable);
    write(u.state[2], product, u.enable);
  }

 private:
  NadamOptions options_;
};

class LionRule final : public Rule {
 public:
  explicit LionRule(const LionOptions& options) : options_(options) {}
  std::string_view name() const override { return "lion"; }
  std::vector<Kept> state_of(const TensorType& type) const override { return {{"exp_avg", type}}; }
  void apply(const Update& u) const override {
    const Tensor g = ops::cast(u.gradient, u.parameter.dtype());
    const Tensor change = ops::mul(ops::sign(moved(u.state[0], g, options_.beta1)), rate_of(u));
    const Tensor average = moved(u.state[0], g, options_.beta2);
    write(u.parameter, ops::sub(shrunk(u, options_.weight_decay), change), u.enable);
    write(u.state[0], average, u.enable);
  }

 private:
  LionOptions options_;
};

class LambRule final : public Rule {
 public:
  explicit LambRule(const LambOptions& options) : options_(options) {}
  std::string_view name() const override { return "lamb"; }
  std::vector<Kept> state_of(const TensorType& type) const override {
    return {{"exp_avg", type}, {"exp_avg_sq", type}};
  }
  void apply(const Update& u) const override {
    const Tensor g = ops::cast(u.gradient, u.parameter.dtype());
    const DType dtype = g.dtype();
    const Tensor first = moved(u.state[0], g, options_.beta1);
    const Tensor second = moved(u.state[1], ops::square(g), options_.beta2);
    const Tensor mean = ops::div(first, correction(u.step, options_.beta1, dtype));
    const Tensor square = ops::div(second, correction(u.step, options_.beta2, dtype));
    Tensor change = ops::div(mean, ops::shift(ops::sqrt(square), options_.epsilon));
    const double decay = options_.weight_decay * u.weight_decay_factor;
    if (decay != 0) change = ops::add(change, ops::scale(u.parameter, decay));
    const auto length = [](const Tensor& x) { return ops::sqrt(ops::sum(ops::square(x))); };
    const Tensor of_parameter = length(u.parameter);
    const Tensor of_change = length(change);
    const Tensor zero = ops::full_like_type(g, {dtype, {}}, 0);
    const Tensor one = ops::full_like_type(g, {dtype, {}}, 1);
    const Tensor both =
        ops::logical_and(ops::greater(of_parameter, zero), ops::greater(of_change, zero));
    const Tensor ratio =
        ops::where(both, ops::div(of_parameter, ops::where(both, of_change, one)), one);
    const Tensor scaled = ops::mul(change, ops::mul(ratio, rate_of(u)));
    write(u.parameter, ops::sub(u.parameter, scaled), u.enable);
    write(u.state[0], first, u.enable);
    write(u.state[1], second, u.enable);
  }

 private:
  LambOptions options_;
};

}  // namespace

Optimizer adagrad(const AdagradOptions& options) {
  check_positive("adagrad", "lr_decay", options.lr_decay);
  check_positive("adagrad", "initial_accumulator", options.initial_accumulator);
  check_positive("adagrad", "epsilon", options.epsilon);
  check_positive("adagrad", "weight_decay", options.weight_decay);
  return {std::make_unique<AdagradRule>(options), options.lr, options.groups};
}

Optimizer lazy_adam(const LazyAdamOptions& options) {
  check_share("lazy_adam", "beta1", options.beta1);
  check_share("lazy_adam", "beta2", options.beta2);
  check_positive("lazy_adam", "epsilon", options.epsilon);
  return {std::make_unique<LazyAdamRule>(ops::AdamOptions{
              .beta1 = options.beta1, .beta2 = options.beta2, .epsilon = options.epsilon}),
          options.lr, options.groups};
}

Optimizer adadelta(const AdadeltaOptions& options) {
  check_share("adadelta", "rho", options.rho);
  check_positive("adadelta", "epsilon", options.epsilon);
  check_positive("adadelta", "weight_decay", options.weight_decay);
  return {std::make_unique<AdadeltaRule>(options), options.lr, options.groups};
}

Optimizer nadam(const NadamOptions& options) {
  check_share("nadam", "beta1", options.beta1);
  check_share("nadam", "beta2", options.beta2);
  check_positive("nadam", "epsilon", options.epsilon);
  check_positive("nadam", "momentum_decay", options.momentum_decay);
  check_positive("nadam", "weight_decay", options.weight_decay);
  return {std::make_unique<NadamRule>(options), options.lr, options.groups};
}

Optimizer lion(const LionOptions& options) {
  check_share("lion", "beta1", options.beta1);
  check_share("lion", "beta2", options.beta2);
  check_positive("lion", "weight_decay", options.weight_decay);
  return {std::make_unique<LionRule>(options), options.lr, options.groups};
}

Optimizer lamb(const LambOptions& options) {
  check_share("lamb", "beta1", options.beta1);
  check_share("lamb", "beta2", options.beta2);
  check_positive("lamb", "epsilon", options.epsilon);
  check_positive("lamb", "weight_decay", options.weight_decay);
  return {std::make_unique<LambRule>(options), options.lr, options.groups};
}

}  // namespace plimsoll::optim

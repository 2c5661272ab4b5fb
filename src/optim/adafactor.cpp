// Adafactor: a second moment that is kept as two vectors.
#include <plimsoll/ops/reduce.h>
#include <plimsoll/optim/adaptive.h>

#include "optim/checks.h"
#include "optim/written_rule.h"

namespace plimsoll::optim {
namespace {

Tensor root_mean_square(const Tensor& x) { return ops::sqrt(ops::mean(ops::square(x))); }

class AdafactorRule final : public Rule {
 public:
  explicit AdafactorRule(const AdafactorOptions& options) : options_(options) {}
  std::string_view name() const override { return "adafactor"; }
  std::vector<Kept> state_of(const TensorType& type) const override {
    if (type.shape.rank() < 2) return {{"variance", type}};
    return {{"row_var", {type.dtype, type.shape.with_dim(-1, 1)}},
            {"col_var", {type.dtype, type.shape.with_dim(-2, 1)}}};
  }

  void apply(const Update& u) const override {
    const Tensor g = ops::cast(u.gradient, u.parameter.dtype());
    const auto number = [&](double value) {
      return ops::full_like_type(g, {g.dtype(), {}}, value);
    };
    const Tensor step = ops::cast(u.step, g.dtype());
    const std::vector<Tensor> moments = moved_moments(u, ops::square(g), step);
    Tensor variance = moments[0];
    if (moments.size() == 2) {
      const Tensor mean = ops::mean(moments[0], {.axes = {-2}, .keep_dims = true});
      const Tensor rows = ops::div(moments[0], ops::maximum(mean, number(options_.epsilon)));
      variance = ops::mul(rows, moments[1]);
    }
    const Tensor least = number(options_.epsilon * options_.epsilon);
    const Tensor direction = ops::mul(g, ops::rsqrt(ops::maximum(variance, least)));
    const Tensor clipped =
        ops::maximum(ops::scale(root_mean_square(direction), 1 / options_.clip), number(1));
    const Tensor rate = ops::minimum(rate_of(u), ops::rsqrt(step));
    const Tensor scale = ops::maximum(root_mean_square(u.parameter), number(options_.least_scale));
    const Tensor change = ops::mul(direction, ops::div(ops::mul(rate, scale), clipped));
    write(u.parameter, ops::sub(shrunk(u, options_.weight_decay), change), u.enable);
    for (std::size_t i = 0; i < moments.size(); ++i) write(u.state[i], moments[i], u.enable);
  }

 private:
  /// The means of `squares` that are kept, moved by as much as this step counts.
  std::vector<Tensor> moved_moments(const Update& u, const Tensor& squares,
                                    const Tensor& step) const {
    const Tensor share = ops::exp(ops::scale(ops::log(step), options_.beta2_decay));
    const auto towards = [&](const Tensor& average, const Tensor& value) {
      return ops::add(average, ops::mul(ops::sub(value, average), share));
    };
    if (u.state.size() == 1) return {towards(u.state[0], squares)};
    return {towards(u.state[0], ops::mean(squares, {.axes = {-1}, .keep_dims = true})),
            towards(u.state[1], ops::mean(squares, {.axes = {-2}, .keep_dims = true}))};
  }

  AdafactorOptions options_;
};

}  // namespace

Optimizer adafactor(const AdafactorOptions& options) {
  check_positive("adafactor", "epsilon", options.epsilon);
  check_positive("adafactor", "least_scale", options.least_scale);
  check_positive("adafactor", "weight_decay", options.weight_decay);
  if (!(options.clip > 0)) {
    throw InvalidArgument(fmt::format("[adafactor] clip is {}; it must be above 0", options.clip));
  }
  if (!(options.beta2_decay <= 0)) {
    throw InvalidArgument(
        fmt::format("[adafactor] beta2_decay is {}; it must be 0 or less, as "
                    "step^beta2_decay is a share",
                    options.beta2_decay));
  }
  return {std::make_unique<AdafactorRule>(options), options.lr, options.groups};
}

}  // namespace plimsoll::optim

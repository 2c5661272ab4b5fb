// AdamW with moments of 8 bits.
#include <plimsoll/optim/adaptive.h>

#include <plimsoll/ops/packed_update.h>

#include "optim/checks.h"

namespace plimsoll::optim {
namespace {

/// Smaller parameters are not worth it: norms and biases want their precision.
constexpr std::int64_t kLeastElements = 4096;

bool is_small(const TensorType& type) { return type.elements() < kLeastElements; }

class Adamw8bitRule final : public Rule {
 public:
  explicit Adamw8bitRule(const AdamOptions& options) : options_(options) {}
  std::string_view name() const override { return "adamw_8bit"; }

  std::vector<Kept> state_of(const TensorType& type) const override {
    if (is_small(type)) return {{"exp_avg", type}, {"exp_avg_sq", type}};
    const std::vector<TensorType> packed = ops::packed_moments(type);
    return {{"exp_avg_8bit", packed[0]},
            {"exp_avg_scale", packed[1]},
            {"exp_avg_sq_8bit", packed[2]},
            {"exp_avg_sq_scale", packed[3]}};
  }

  void apply(const Update& u) const override {
    const ops::AdamOptions options = {.beta1 = options_.beta1,
                                      .beta2 = options_.beta2,
                                      .epsilon = options_.epsilon,
                                      .weight_decay = options_.weight_decay * u.weight_decay_factor,
                                      .decoupled = true};
    if (is_small(u.parameter.type())) {
      ops::adam_update(u.parameter, u.state[0], u.state[1], u.gradient, u.rate, u.step, options,
                       u.enable);
      return;
    }
    ops::adam_8bit_update(u.parameter, u.state[0], u.state[1], u.state[2], u.state[3], u.gradient,
                          u.rate, u.step, options, u.enable);
  }

 private:
  AdamOptions options_;
};

}  // namespace

Optimizer adamw_8bit(const AdamOptions& options) {
  check_share("adamw_8bit", "beta1", options.beta1);
  check_share("adamw_8bit", "beta2", options.beta2);
  check_positive("adamw_8bit", "epsilon", options.epsilon);
  check_positive("adamw_8bit", "weight_decay", options.weight_decay);
  return {std::make_unique<Adamw8bitRule>(options), options.lr, options.groups};
}

}  // namespace plimsoll::optim

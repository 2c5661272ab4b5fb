// AdamW with moments of 8 bits, written in ops.
#include <plimsoll/optim/adaptive.h>

#include <plimsoll/ops/operators.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>

#include "optim/checks.h"
#include "optim/written_rule.h"

namespace plimsoll::optim {
namespace {

constexpr std::int64_t kBlock = 256;
/// Smaller parameters are not worth it: norms and biases want their precision.
constexpr std::int64_t kLeastElements = 4096;
constexpr double kFirstSteps = 127;   ///< of i8, on either side of 0
constexpr double kSecondSteps = 255;  ///< of u8

bool is_small(const TensorType& type) { return type.elements() < kLeastElements; }

/// Any tensor as [blocks, kBlock] of f32, filled up with zeros.
Tensor in_blocks(const Tensor& x) {
  const std::int64_t count = x.elements();
  const std::int64_t more = (kBlock - count % kBlock) % kBlock;
  const Tensor flat = ops::cast(ops::reshape(x, Shape{count}), DType::f32);
  const Tensor whole = more == 0 ? flat : ops::pad(flat, {0}, {more});
  return ops::reshape(whole, Shape{(count + more) / kBlock, kBlock});
}

Tensor out_of_blocks(const Tensor& blocks, const TensorType& type) {
  const Tensor flat = ops::reshape(blocks, Shape{blocks.elements()});
  const Tensor cut = ops::slice(flat, 0, 0, type.elements());
  return ops::cast(ops::reshape(cut, type.shape), type.dtype);
}

/// What is kept of a moment: numbers of 8 bits and the largest of each block.
struct Packed {
  Tensor numbers;
  Tensor scales;
};

/// x divided by the largest size in its block.
Tensor relative(const Tensor& size, const Tensor& scales) {
  const Tensor divisor = ops::where(scales > 0, scales, ops::ones_like(scales));
  return ops::div(size, divisor);
}

Packed pack_first(const Tensor& x) {
  const Tensor size = ops::abs(x);
  const Tensor scales = ops::max(size, {.axes = {1}, .keep_dims = true});
  const Tensor root = ops::sqrt(relative(size, scales));
  const Tensor steps = ops::mul(ops::round(ops::scale(root, kFirstSteps)), ops::sign(x));
  return {ops::cast(steps, DType::i8), scales};
}
Tensor unpack_first(const Packed& packed) {
  const Tensor root = ops::scale(ops::cast(packed.numbers, DType::f32), 1 / kFirstSteps);
  return ops::mul(ops::mul(root, ops::abs(root)), packed.scales);
}

/// Never 0 where x is not: a step divides by its root.
Packed pack_second(const Tensor& x) {
  const Tensor scales = ops::max(x, {.axes = {1}, .keep_dims = true});
  const Tensor root = ops::sqrt(ops::sqrt(relative(x, scales)));
  const Tensor steps = ops::round(ops::scale(root, kSecondSteps));
  const Tensor least = ops::cast(x > 0, DType::f32);
  return {ops::cast(ops::maximum(steps, least), DType::u8), scales};
}
Tensor unpack_second(const Packed& packed) {
  const Tensor root = ops::scale(ops::cast(packed.numbers, DType::f32), 1 / kSecondSteps);
  return ops::mul(ops::square(ops::square(root)), packed.scales);
}

class Adamw8bitRule final : public Rule {
 public:
  explicit Adamw8bitRule(const AdamOptions& options) : options_(options) {}
  std::string_view name() const override { return "adamw_8bit"; }

  std::vector<Kept> state_of(const TensorType& type) const override {
    if (is_small(type)) return {{"exp_avg", type}, {"exp_avg_sq", type}};
    const std::int64_t blocks = (type.elements() + kBlock - 1) / kBlock;
    const Shape shape{blocks, kBlock};
    const Shape each{blocks, 1};
    return {{"exp_avg_8bit", {DType::i8, shape}},
            {"exp_avg_scale", {DType::f32, each}},
            {"exp_avg_sq_8bit", {DType::u8, shape}},
            {"exp_avg_sq_scale", {DType::f32, each}}};
  }

  void apply(const Update& u) const override {
    if (is_small(u.parameter.type())) {
      ops::adam_update(u.parameter, u.state[0], u.state[1], u.gradient, u.rate, u.step,
                       {.beta1 = options_.beta1,
                        .beta2 = options_.beta2,
                        .epsilon = options_.epsilon,
                        .weight_decay = options_.weight_decay * u.weight_decay_factor,
                        .decoupled = true},
                       u.enable);
      return;
    }
    const Tensor g = in_blocks(u.gradient);
    const Tensor first = moved(unpack_first({u.state[0], u.state[1]}), g, options_.beta1);
    const Tensor second =
        moved(unpack_second({u.state[2], u.state[3]}), ops::square(g), options_.beta2);
    const Tensor mean = ops::div(first, correction(u.step, options_.beta1, DType::f32));
    const Tensor square = ops::div(second, correction(u.step, options_.beta2, DType::f32));
    const Tensor change = ops::div(mean, ops::shift(ops::sqrt(square), options_.epsilon));
    const Tensor step = ops::mul(out_of_blocks(change, u.parameter.type()), rate_of(u));
    const Packed kept_first = pack_first(first);
    const Packed kept_second = pack_second(second);
    write(u.parameter, ops::sub(shrunk(u, options_.weight_decay), step), u.enable);
    write(u.state[0], kept_first.numbers, u.enable);
    write(u.state[1], kept_first.scales, u.enable);
    write(u.state[2], kept_second.numbers, u.enable);
    write(u.state[3], kept_second.scales, u.enable);
  }

 private:
  AdamOptions options_;
};

}  // namespace

Optimizer adamw_8bit(const AdamOptions& options) {
  check_above_zero_share("adamw_8bit", "beta1", options.beta1);
  check_above_zero_share("adamw_8bit", "beta2", options.beta2);
  check_positive("adamw_8bit", "epsilon", options.epsilon);
  check_positive("adamw_8bit", "weight_decay", options.weight_decay);
  return {std::make_unique<Adamw8bitRule>(options), options.lr, options.groups};
}

}  // namespace plimsoll::optim

// AdamW with moments of 8 bits, written in ops.
#include <plimsoll/optim/adaptive.h>

#include <algorithm>
#include <utility>
#include <vector>

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
/// Blocks that are updated together: what is computed on the way, in f32, takes as much for a large
/// parameter as for this many of its blocks.
constexpr std::int64_t kBlocksAtOnce = 16384;
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

/// Rows [begin, end) of x.
Tensor cut(const Tensor& x, std::int64_t begin, std::int64_t end) {
  return begin == 0 && end == x.dim(0) ? x : ops::slice(x, 0, begin, end);
}
Tensor joined(const std::vector<Tensor>& parts) {
  return parts.size() == 1 ? parts.front() : ops::concat(parts, 0);
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
    const TensorType type = u.parameter.type();
    const std::int64_t count = type.elements();
    const std::int64_t blocks = u.state[1].elements();
    const Tensor parameter = ops::reshape(u.parameter, Shape{count});
    const Tensor gradient = ops::reshape(u.gradient, Shape{count});
    std::vector<std::vector<Tensor>> parts(1 + u.state.size());
    for (std::int64_t first = 0; first < blocks; first += kBlocksAtOnce) {
      const std::int64_t last = std::min(blocks, first + kBlocksAtOnce);
      const Changed part =
          changed(u, {first, last}, cut(parameter, first * kBlock, std::min(count, last * kBlock)),
                  cut(gradient, first * kBlock, std::min(count, last * kBlock)));
      parts[0].push_back(part.parameter);
      parts[1].push_back(part.first.numbers);
      parts[2].push_back(part.first.scales);
      parts[3].push_back(part.second.numbers);
      parts[4].push_back(part.second.scales);
    }
    write(u.parameter, ops::reshape(joined(parts[0]), type.shape), u.enable);
    for (std::size_t i = 0; i < u.state.size(); ++i) {
      write(u.state[i], joined(parts[i + 1]), u.enable);
    }
  }

 private:
  /// Some blocks of a parameter after a step.
  struct Changed {
    Tensor parameter;
    Packed first;
    Packed second;
  };

  /// Of blocks [first, last), whose elements are in `parameter` and `gradient`.
  Changed changed(const Update& u, std::pair<std::int64_t, std::int64_t> of,
                  const Tensor& parameter, const Tensor& gradient) const {
    const auto state = [&](std::size_t i) { return cut(u.state[i], of.first, of.second); };
    const Tensor g = in_blocks(gradient);
    const Tensor first = moved(unpack_first({state(0), state(1)}), g, options_.beta1);
    const Tensor second =
        moved(unpack_second({state(2), state(3)}), ops::square(g), options_.beta2);
    const Tensor mean = ops::div(first, correction(u.step, options_.beta1, DType::f32));
    const Tensor square = ops::div(second, correction(u.step, options_.beta2, DType::f32));
    const Tensor change = ops::div(mean, ops::shift(ops::sqrt(square), options_.epsilon));
    const Tensor step = ops::mul(out_of_blocks(change, parameter.type()), rate_of(u));
    return {ops::sub(shrunk(u, parameter, options_.weight_decay), step), pack_first(first),
            pack_second(second)};
  }

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

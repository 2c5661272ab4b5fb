#include <plimsoll/ops/clip.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/reduce.h>

namespace plimsoll::ops {
namespace {

Tensor widened(const Tensor& x) { return x.dtype() == DType::f64 ? x : cast(x, DType::f32); }

/// A 16-bit square may overflow, so it is widened first.
Tensor sum_of_squares(const Tensor& x) { return sum(square(widened(x))); }

/// limit / max(norm, limit), in which an infinite norm becomes NaN rather than 0.
Tensor factor_of(const Tensor& norm, double limit) {
  const Tensor bound = full_like_type(norm, norm.type(), limit);
  const Tensor factor = div(bound, maximum(norm, bound));
  return add(factor, sub(norm, norm));
}

void require_limit(const char* function, double limit) {
  if (!(limit > 0)) {
    throw InvalidArgument(fmt::format("[{}] the limit must be above 0, not {}", function, limit));
  }
}

Tensor scaled(const Tensor& x, const Tensor& factor) {
  return cast(mul(widened(x), cast(factor, x.dtype() == DType::f64 ? DType::f64 : DType::f32)),
              x.dtype());
}

}  // namespace

std::vector<Tensor> clip_by_value(std::span<const Tensor> gradients, double low, double high) {
  std::vector<Tensor> clipped;
  for (const Tensor& g : gradients) clipped.push_back(g.defined() ? clip(g, low, high) : g);
  return clipped;
}

Tensor clip_by_norm(const Tensor& x, double limit) {
  require_limit("clip_by_norm", limit);
  return scaled(x, factor_of(sqrt(sum_of_squares(x)), limit));
}

Tensor global_norm(std::span<const Tensor> tensors) {
  Tensor total;
  for (const Tensor& t : tensors) {
    if (!t.defined()) continue;
    const Tensor squares = sum_of_squares(t);
    total = total.defined() ? add(total, cast(squares, total.dtype())) : squares;
  }
  if (!total.defined()) throw InvalidArgument("[global_norm] there is no tensor");
  return sqrt(total);
}

ClippedByGlobalNorm clip_by_global_norm(std::span<const Tensor> gradients, double limit) {
  require_limit("clip_by_global_norm", limit);
  ClippedByGlobalNorm result;
  result.norm = global_norm(gradients);
  const Tensor factor = factor_of(result.norm, limit);
  for (const Tensor& g : gradients) {
    result.gradients.push_back(g.defined() ? scaled(g, factor) : g);
  }
  return result;
}

}  // namespace plimsoll::ops

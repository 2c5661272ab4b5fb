// Ops on tensors as functions of symbolic values.
#include <plimsoll/data/program_ops.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/program/recorder.h"

namespace plimsoll::data {
namespace {

Symbolic call(std::string_view op, std::initializer_list<Symbolic> inputs,
              const ops::Attributes& attributes = {}) {
  const std::span<const Symbolic> all(inputs.begin(), inputs.size());
  return record(all.front().recorder(), op, all, attributes).front();
}

/// Counted from the front where the rank is known; the op's rule refuses what is outside.
std::int64_t from_front(const Symbolic& x, std::int64_t axis, int more = 0) {
  return axis < 0 ? axis + x.rank() + more : axis;
}

Value number_of(const Symbolic& like, DType dtype, const ops::Scalar& number) {
  if (dtype == DType::bytes) {
    throw InvalidArgument(
        fmt::format("[map] {} is bytes and stands beside the number {}; use "
                    "to_number first",
                    like.describe(), ops::to_string(number)));
  }
  if (const auto value = Value::of_number(dtype, number)) return *value;
  throw InvalidArgument(
      fmt::format("[map] {} does not fit the dtype of {} ({}); cast it to a dtype that has it",
                  ops::to_string(number), like.describe(), like.spec().to_string()));
}

Symbolic number_as(const Symbolic& like, DType dtype, const ops::Scalar& number) {
  return constant_like(like, number_of(like, dtype, number));
}

Symbolic divisible(const Symbolic& x) { return is_integer(x.dtype()) ? cast(x, DType::f32) : x; }

ops::Attributes reduction(const Symbolic& x, const ops::ReduceOptions& options) {
  std::vector<std::int64_t> axes = options.axes;
  if (axes.empty()) {
    axes.resize(static_cast<std::size_t>(x.rank()));
    std::iota(axes.begin(), axes.end(), std::int64_t{0});
  }
  for (std::int64_t& axis : axes) {
    axis = from_front(x, axis);
    if (axis < 0 || axis >= x.rank()) {
      throw InvalidArgument(fmt::format("[map] {} is {} and has no axis {}", x.describe(),
                                        x.spec().to_string(), axis));
    }
  }
  std::ranges::sort(axes);
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return {{"axes", axes}, {"keep_dims", options.keep_dims}};
}

}  // namespace

Symbolic constant_like(const Symbolic& like, const Value& value) {
  return {like.recorder(), like.recorder()->add(constant_of(value))};
}

Symbolic constant_like(const Symbolic& like, const std::vector<float>& numbers) {
  return {like.recorder(), like.recorder()->add(constant_of(numbers))};
}

Symbolic number_like(const Symbolic& like, const ops::Scalar& number) {
  return number_as(like, like.dtype(), number);
}

Symbolic divisor_like(const Symbolic& like, const ops::Scalar& number) {
  return number_as(like, is_integer(like.dtype()) ? DType::f32 : like.dtype(), number);
}

Symbolic operator-(const Symbolic& x) { return call("neg", {x}); }
Symbolic operator+(const Symbolic& a, const Symbolic& b) { return call("add", {a, b}); }
Symbolic operator-(const Symbolic& a, const Symbolic& b) { return call("sub", {a, b}); }
Symbolic operator*(const Symbolic& a, const Symbolic& b) { return call("mul", {a, b}); }
Symbolic operator/(const Symbolic& a, const Symbolic& b) {
  return call("div", {divisible(a), divisible(b)});
}
Symbolic operator==(const Symbolic& a, const Symbolic& b) { return call("equal", {a, b}); }
Symbolic operator!=(const Symbolic& a, const Symbolic& b) { return call("not_equal", {a, b}); }
Symbolic operator<(const Symbolic& a, const Symbolic& b) { return call("less", {a, b}); }
Symbolic operator<=(const Symbolic& a, const Symbolic& b) { return call("less_equal", {a, b}); }
Symbolic operator>(const Symbolic& a, const Symbolic& b) { return call("less", {b, a}); }
Symbolic operator>=(const Symbolic& a, const Symbolic& b) { return call("less_equal", {b, a}); }
Symbolic logical_and(const Symbolic& a, const Symbolic& b) { return call("logical_and", {a, b}); }
Symbolic logical_or(const Symbolic& a, const Symbolic& b) { return call("logical_or", {a, b}); }
Symbolic logical_not(const Symbolic& x) { return call("logical_not", {x}); }
Symbolic where(const Symbolic& condition, const Symbolic& a, const Symbolic& b) {
  return call("where", {condition, a, b});
}
Symbolic maximum(const Symbolic& a, const Symbolic& b) { return call("maximum", {a, b}); }
Symbolic minimum(const Symbolic& a, const Symbolic& b) { return call("minimum", {a, b}); }
Symbolic pow(const Symbolic& a, const Symbolic& b) { return call("pow", {a, b}); }
Symbolic abs(const Symbolic& x) { return call("abs", {x}); }
Symbolic sqrt(const Symbolic& x) { return call("sqrt", {x}); }
Symbolic exp(const Symbolic& x) { return call("exp", {x}); }
Symbolic log(const Symbolic& x) { return call("log", {x}); }
Symbolic floor(const Symbolic& x) { return call("floor", {x}); }
Symbolic round(const Symbolic& x) { return call("round", {x}); }

Symbolic clip(const Symbolic& x, double low, double high) {
  return call("clip", {x}, {{"low", low}, {"high", high}});
}

Symbolic cast(const Symbolic& x, DType dtype) {
  return x.dtype() == dtype ? x : call("cast", {x}, {{"dtype", dtype}});
}

Symbolic reshape(const Symbolic& x, const std::vector<std::int64_t>& shape) {
  const bool valid = std::ranges::all_of(shape, [](auto extent) { return extent >= -1; });
  if (!valid || std::ranges::count(shape, -1) > 1) {
    throw InvalidArgument(
        fmt::format("[reshape] extents must not be below 0; at most one may be -1, for what is "
                    "left; of {}",
                    x.describe()));
  }
  return call("reshape", {x}, {{"shape", shape}});
}

Symbolic transpose(const Symbolic& x, const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> axes;
  for (const std::int64_t axis : order) axes.push_back(from_front(x, axis));
  return call("transpose", {x}, {{"order", axes}});
}

Symbolic concat(const std::vector<Symbolic>& values, int axis) {
  if (values.empty()) throw InvalidArgument("[concat] there are no values");
  return record(values.front().recorder(), "concat", values,
                {{"axis", from_front(values.front(), axis)}})
      .front();
}

Symbolic stack(const std::vector<Symbolic>& values, int axis) {
  if (values.empty()) throw InvalidArgument("[stack] there are no values");
  const std::int64_t at = from_front(values.front(), axis, 1);
  std::vector<Symbolic> apart;
  for (const Symbolic& value : values) {
    apart.push_back(call("expand_dims", {value}, {{"axis", at}}));
  }
  return concat(apart, static_cast<int>(at));
}

Symbolic slice(const Symbolic& x, int axis, std::int64_t begin, std::int64_t end,
               std::int64_t step) {
  return call("slice", {x},
              {{"axis", from_front(x, axis)}, {"begin", begin}, {"end", end}, {"step", step}});
}

Symbolic pad(const Symbolic& x, const std::vector<std::int64_t>& before,
             const std::vector<std::int64_t>& after, double value) {
  return call("pad", {x}, {{"before", before}, {"after", after}, {"value", value}});
}

Symbolic gather(const Symbolic& x, const Symbolic& indices, int axis) {
  return call("gather", {x, indices}, {{"axis", from_front(x, axis)}});
}

Symbolic one_hot(const Symbolic& labels, std::int64_t classes, DType dtype) {
  return call("one_hot", {labels}, {{"classes", classes}, {"dtype", dtype}});
}

Symbolic matmul(const Symbolic& a, const Symbolic& b) {
  return call("matmul", {a, b}, {{"transpose_a", false}, {"transpose_b", false}});
}

Symbolic sum(const Symbolic& x, const ops::ReduceOptions& options) {
  return call("sum", {x}, reduction(x, options));
}
Symbolic mean(const Symbolic& x, const ops::ReduceOptions& options) {
  const Symbolic values = divisible(x);
  return call("mean", {values}, reduction(values, options));
}
Symbolic max(const Symbolic& x, const ops::ReduceOptions& options) {
  return call("max", {x}, reduction(x, options));
}
Symbolic min(const Symbolic& x, const ops::ReduceOptions& options) {
  return call("min", {x}, reduction(x, options));
}
Symbolic any(const Symbolic& x, const ops::ReduceOptions& options) {
  return call("any", {x}, reduction(x, options));
}
Symbolic all(const Symbolic& x, const ops::ReduceOptions& options) {
  return call("all", {x}, reduction(x, options));
}
Symbolic argmax(const Symbolic& x, int axis) {
  return call("argmax", {x}, {{"axis", from_front(x, axis)}});
}

}  // namespace plimsoll::data

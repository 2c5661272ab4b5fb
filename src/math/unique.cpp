// nonzero and unique: what the values decide the shape of, so that the host must know them.
#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/math/index.h>
#include <plimsoll/ops/cumulative.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::math {
namespace {

void require_values(const char* who, const Tensor& x) {
  if (!x.is_symbolic()) return;
  throw InvalidArgument(fmt::format(
      "[{}] the values of {} decide how many elements there are, and in a trace there are none; "
      "use where() with a number, or call it outside",
      who, x.type().to_string()));
}

std::vector<std::uint8_t> flags_of(const Tensor& x) {
  std::vector<std::uint8_t> flags(static_cast<std::size_t>(x.elements()));
  const Tensor bytes = ops::cast(x, DType::u8);
  bytes.copy_to(std::span<std::uint8_t>(flags));
  return flags;
}

Tensor i64_tensor(const std::vector<std::int64_t>& values, const Shape& shape, const Tensor& like) {
  return Tensor::from_values(std::span<const std::int64_t>(values), shape, like.device());
}

}  // namespace

Tensor nonzero(const Tensor& x) {
  require_values("nonzero", x);
  const auto flags = flags_of(ops::cast(x, DType::boolean));
  const auto strides = x.shape().contiguous_strides();
  std::vector<std::int64_t> places;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (flags[i] == 0) continue;
    ++count;
    auto left = static_cast<std::int64_t>(i);
    for (int d = 0; d < x.rank(); ++d) {
      places.push_back(left / strides[static_cast<std::size_t>(d)]);
      left %= strides[static_cast<std::size_t>(d)];
    }
  }
  return i64_tensor(places, Shape{count, x.rank()}, x);
}

Unique unique(const Tensor& x) {
  require_values("unique", x);
  const std::int64_t count = x.elements();
  const auto [values, order] = ops::sort(ops::reshape(x, Shape{count}));
  const auto places = order.to_vector<std::int64_t>();
  std::vector<std::uint8_t> differs;
  if (count > 1) {
    differs =
        flags_of(ops::not_equal(ops::slice(values, 0, 1), ops::slice(values, 0, 0, count - 1)));
  }
  std::vector<std::int64_t> firsts;
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> inverse(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i == 0 || differs[i - 1] != 0) {
      firsts.push_back(static_cast<std::int64_t>(i));
      counts.push_back(0);
    }
    ++counts.back();
    inverse[static_cast<std::size_t>(places[i])] = static_cast<std::int64_t>(counts.size()) - 1;
  }
  const auto distinct = static_cast<std::int64_t>(firsts.size());
  return {ops::gather(values, i64_tensor(firsts, Shape{distinct}, x)),
          i64_tensor(inverse, x.shape(), x), i64_tensor(counts, Shape{distinct}, x)};
}

}  // namespace plimsoll::math

#include <plimsoll/ops/create.h>

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/default_device.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/random.h>

namespace plimsoll {
namespace {

Device device_for(const CreateOptions& options) {
  return options.device ? *options.device : DefaultDevice::get();
}

template <typename T>
Tensor narrowed(const std::vector<double>& values, const Shape& shape, const Device& device) {
  const std::vector<T> narrow(values.begin(), values.end());
  return Tensor::from_values(std::span<const T>(narrow), shape, device);
}

Tensor from(const std::vector<double>& values, const Shape& shape, const CreateOptions& options) {
  const Device device = device_for(options);
  switch (options.dtype) {
    case DType::f32:
      return narrowed<float>(values, shape, device);
    case DType::i64:
      return narrowed<std::int64_t>(values, shape, device);
    case DType::f64:
      return narrowed<double>(values, shape, device);
    default:
      return ops::cast(narrowed<double>(values, shape, device), options.dtype);
  }
}

/// first, first + step, ... before `end`.
std::vector<std::int64_t> counted(std::int64_t first, std::int64_t end, std::int64_t step) {
  // As unsigned, where what is far apart does not overflow.
  const auto apart = static_cast<std::uint64_t>(step > 0 ? end : first) -
                     static_cast<std::uint64_t>(step > 0 ? first : end);
  const auto by =
      step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  const bool none = step > 0 ? end <= first : end >= first;
  std::vector<std::int64_t> values(none ? 0 : static_cast<std::size_t>((apart - 1) / by + 1));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(first) +
                                          i * static_cast<std::uint64_t>(step));
  }
  return values;
}

/// Shape of the nested lists below `values`, by the first of each.
std::vector<std::int64_t> shape_of(const Nested& values) {
  std::vector<std::int64_t> shape;
  for (const Nested* at = &values; at->is_list(); at = &at->list().front()) {
    shape.push_back(static_cast<std::int64_t>(at->list().size()));
    if (at->list().empty()) break;
  }
  return shape;
}

void gather_numbers(const Nested& values, std::span<const std::int64_t> shape,
                    std::vector<double>& out) {
  const bool fits =
      values.is_list()
          ? !shape.empty() && static_cast<std::int64_t>(values.list().size()) == shape.front()
          : shape.empty();
  if (!fits) {
    throw InvalidArgument(
        "[tensor] the lists are of unequal lengths; each must have as many as its neighbours");
  }
  if (!values.is_list()) {
    out.push_back(values.number());
    return;
  }
  for (const Nested& each : values.list()) gather_numbers(each, shape.subspan(1), out);
}

}  // namespace

Tensor zeros(const Shape& shape, const CreateOptions& options) {
  return Tensor::zeros(shape, options.dtype, device_for(options));
}

Tensor ones(const Shape& shape, const CreateOptions& options) { return full(shape, 1, options); }

Tensor full(const Shape& shape, const ops::Scalar& value, const CreateOptions& options) {
  return ops::full(shape, value, options.dtype, device_for(options));
}

Tensor arange(std::int64_t count, const CreateOptions& options) {
  return arange(0, count, 1, options);
}

Tensor arange(const ops::Scalar& first, const ops::Scalar& end, const ops::Scalar& step,
              const CreateOptions& options) {
  const double begin = first.number();
  const double by = step.number();
  if (by == 0 || !std::isfinite(begin) || !std::isfinite(end.number()) || !std::isfinite(by)) {
    throw InvalidArgument(
        fmt::format("[arange] from {} to {} in steps of {}; give finite numbers and a step that is "
                    "not 0",
                    begin, end.number(), by));
  }
  if (options.dtype == DType::i64 && first.whole() && end.whole() && step.whole()) {
    const std::vector<std::int64_t> values = counted(*first.whole(), *end.whole(), *step.whole());
    return Tensor::from_values(std::span<const std::int64_t>(values),
                               {static_cast<std::int64_t>(values.size())}, device_for(options));
  }
  const auto count =
      static_cast<std::int64_t>(std::max(0.0, std::ceil((end.number() - begin) / by)));
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = begin + static_cast<double>(i) * by;
  return from(values, {count}, options);
}

Tensor linspace(double first, double last, std::int64_t count, const CreateOptions& options) {
  if (count < 1) {
    throw InvalidArgument(fmt::format("[linspace] {} numbers; give 1 or more", count));
  }
  std::vector<double> values(static_cast<std::size_t>(count), first);
  for (std::size_t i = 1; i < values.size(); ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(count - 1);
    values[i] = first + (last - first) * share;
  }
  return from(values, {count}, options);
}

Tensor eye(std::int64_t size, const CreateOptions& options) {
  if (size < 0) throw InvalidArgument(fmt::format("[eye] a size of {}; give 0 or more", size));
  const auto side = static_cast<std::size_t>(size);
  std::vector<double> values(side * side);
  for (std::size_t i = 0; i < side; ++i) values[i * side + i] = 1;
  return from(values, {size, size}, options);
}

Tensor random_uniform(const Shape& shape, double low, double high, const CreateOptions& options) {
  return ops::random_uniform({options.dtype, shape}, low, high, device_for(options));
}

Tensor random_normal(const Shape& shape, double mean, double deviation,
                     const CreateOptions& options) {
  return ops::random_normal({options.dtype, shape}, mean, deviation, device_for(options));
}

Tensor tensor(const Nested& values, const CreateOptions& options) {
  const std::vector<std::int64_t> shape = shape_of(values);
  std::vector<double> numbers;
  gather_numbers(values, shape, numbers);
  return from(numbers, Shape(shape), options);
}

}  // namespace plimsoll

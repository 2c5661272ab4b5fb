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

constexpr std::uint64_t kMost = std::uint64_t{1} << 60;

[[noreturn]] void too_many(const char* who) {
  throw InvalidArgument(fmt::format(
      "[{}] these are more than 2^60 numbers; choose a larger step or nearer ends", who));
}

/// A tensor whose element i, in row-major order, is value_of(i). Its memory is charged before
/// anything is computed, and nothing of its size is held beside it.
template <typename T, typename ValueOf>
Tensor computed(const Shape& shape, const Device& device, const ValueOf& value_of) {
  constexpr std::int64_t kPart = std::int64_t{1} << 14;
  Tensor result = Tensor::empty(shape, dtype_of<T>, device);
  std::vector<T> part;
  for (std::int64_t begin = 0; begin < shape.elements(); begin += kPart) {
    const std::int64_t count = std::min(kPart, shape.elements() - begin);
    part.resize(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      part[static_cast<std::size_t>(i)] = static_cast<T>(value_of(begin + i));
    }
    const StreamId stream = TensorOptions{}.stream;
    auto* to = static_cast<T*>(result.raw_mutable_data()) + begin;
    device.copy(to, part.data(), static_cast<Bytes>(count) * sizeof(T), stream);
    if (stream != kHostStream) device.synchronize(stream);  // the part is written again
  }
  return result;
}

template <typename ValueOf>
Tensor from(const ValueOf& value_of, const Shape& shape, const CreateOptions& options) {
  const Device device = device_for(options);
  switch (options.dtype) {
    case DType::f32:
      return computed<float>(shape, device, value_of);
    case DType::i64:
      return computed<std::int64_t>(shape, device, value_of);
    case DType::f64:
      return computed<double>(shape, device, value_of);
    default:
      return ops::cast(computed<double>(shape, device, value_of), options.dtype);
  }
}

/// first, first + step, ... before `end`.
Tensor counted(std::int64_t first, std::int64_t end, std::int64_t step, const Device& device) {
  // As unsigned, where what is far apart does not overflow.
  const auto apart = static_cast<std::uint64_t>(step > 0 ? end : first) -
                     static_cast<std::uint64_t>(step > 0 ? first : end);
  const auto by =
      step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  const bool none = step > 0 ? end <= first : end >= first;
  const std::uint64_t count = none ? 0 : (apart - 1) / by + 1;
  if (count > kMost) too_many("arange");
  return computed<std::int64_t>({static_cast<std::int64_t>(count)}, device, [&](std::int64_t i) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(first) +
                                     static_cast<std::uint64_t>(i) *
                                         static_cast<std::uint64_t>(step));
  });
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
    return counted(*first.whole(), *end.whole(), *step.whole(), device_for(options));
  }
  const double count = std::max(0.0, std::ceil((end.number() - begin) / by));
  if (count > static_cast<double>(kMost)) too_many("arange");
  const auto value_of = [&](std::int64_t i) { return begin + static_cast<double>(i) * by; };
  return from(value_of, {static_cast<std::int64_t>(count)}, options);
}

Tensor linspace(double first, double last, std::int64_t count, const CreateOptions& options) {
  if (count < 1) {
    throw InvalidArgument(fmt::format("[linspace] {} numbers; give 1 or more", count));
  }
  const auto value_of = [&](std::int64_t i) {
    if (i == 0) return first;
    const double share = static_cast<double>(i) / static_cast<double>(count - 1);
    return first + (last - first) * share;
  };
  return from(value_of, {count}, options);
}

Tensor eye(std::int64_t size, const CreateOptions& options) {
  if (size < 0) throw InvalidArgument(fmt::format("[eye] a size of {}; give 0 or more", size));
  return from([&](std::int64_t i) { return i / size == i % size ? 1.0 : 0.0; }, {size, size},
              options);
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
  const auto number = [&](std::int64_t i) { return numbers[static_cast<std::size_t>(i)]; };
  return from(number, Shape(shape), options);
}

}  // namespace plimsoll

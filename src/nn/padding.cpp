#include <plimsoll/nn/padding.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::nn {
namespace {

std::string_view mode_name(PadMode mode) {
  switch (mode) {
    case PadMode::reflect:
      return "reflect";
    case PadMode::replicate:
      return "replicate";
    case PadMode::circular:
      return "circular";
    case PadMode::zeros:
      break;
  }
  return "zeros";
}

/// One dimension of x, longer.
Tensor along(const Tensor& x, int axis, std::int64_t before, std::int64_t after, PadMode mode) {
  const std::int64_t extent = x.dim(axis);
  const std::int64_t most = mode == PadMode::reflect    ? extent - 1
                            : mode == PadMode::circular ? extent
                                                        : (extent > 0 ? Tensor::kToEnd : 0);
  for (const std::int64_t more : {before, after}) {
    if (more > most) {
      throw InvalidArgument(
          fmt::format("[pad] dimension {} of {} cannot be padded by {} with {}; it has {} elements",
                      axis, x.type().to_string(), more, mode_name(mode), extent));
    }
  }
  if (mode == PadMode::circular) {
    std::vector<Tensor> parts;
    if (before > 0) parts.push_back(ops::slice(x, axis, extent - before, extent));
    parts.push_back(x);
    if (after > 0) parts.push_back(ops::slice(x, axis, 0, after));
    return ops::concat(parts, axis);
  }
  // Where each element comes from, counted from the first that was there.
  const std::int64_t longer = before + extent + after;
  const Tensor at = ops::shift(ops::arange(longer, DType::i64, x), static_cast<double>(-before));
  const auto last = static_cast<double>(extent - 1);
  if (mode == PadMode::replicate) return ops::gather(x, ops::clip(at, 0, last), axis);
  const Tensor from_last = ops::abs(ops::shift(ops::abs(at), -last));
  return ops::gather(x, ops::shift(ops::neg(from_last), last), axis);
}

}  // namespace

Tensor pad(const Tensor& x, const std::vector<std::int64_t>& before,
           const std::vector<std::int64_t>& after, PadMode mode) {
  const auto rank = static_cast<std::size_t>(x.rank());
  if (before.size() != rank || after.size() != rank) {
    throw InvalidArgument(fmt::format("[pad] {} and {} sizes for x {}; give one for each dimension",
                                      before.size(), after.size(), x.type().to_string()));
  }
  Tensor y = x;
  for (std::size_t i = 0; i < rank; ++i) {
    if (before[i] < 0 || after[i] < 0) {
      throw InvalidArgument(
          fmt::format("[pad] dimension {} would be padded by {} and {}; use slice to remove "
                      "elements",
                      i, before[i], after[i]));
    }
    if (mode == PadMode::zeros || (before[i] == 0 && after[i] == 0)) continue;
    y = along(y, static_cast<int>(i), before[i], after[i], mode);
  }
  return mode == PadMode::zeros ? ops::pad(x, before, after) : y;
}

Tensor Pad2D::forward(const Tensor& x) const {
  if (x.rank() != 4) {
    throw InvalidArgument(
        fmt::format("[Pad2D] the input is {}; it takes images, [n, channels, "
                    "height, width]",
                    x.type().to_string()));
  }
  return pad(x, {0, 0, sides_.top, sides_.left}, {0, 0, sides_.bottom, sides_.right}, mode_);
}

Tensor Pad1D::forward(const Tensor& x) const {
  if (x.rank() != 3) {
    throw InvalidArgument(
        fmt::format("[Pad1D] the input is {}; it takes sequences, [n, channels, "
                    "length]",
                    x.type().to_string()));
  }
  return pad(x, {0, 0, before_}, {0, 0, after_}, mode_);
}

}  // namespace plimsoll::nn

// MixUp and CutMix of a batch, as torchvision v2 does them: each picture with the one before it.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/program/op.h"

namespace plimsoll::data::program_ops {
namespace {

std::vector<TensorSpec> mix_batch_specs(const SpecInputs& inputs) {
  const TensorSpec& pictures = inputs[0];
  const TensorSpec& labels = inputs[1];
  if (pictures.dtype != DType::f32 || !pictures.dims || pictures.dims->size() != 4) {
    inputs.fail("takes a batch of images, f32 of rank 4");
  }
  const std::int64_t classes = inputs.require_positive("classes");
  const bool numbers = labels.dtype == DType::i64 && labels.dims && labels.dims->size() == 1;
  const bool shares = labels.dtype == DType::f32 && labels.dims && labels.dims->size() == 2 &&
                      labels.dims->back() == classes;
  if (!numbers && !shares) {
    inputs.fail(fmt::format("takes labels i64 [batch], or f32 [batch,{}]", classes));
  }
  return {pictures, {DType::f32, std::vector<std::int64_t>{labels.dims->front(), classes}}};
}

double unit(std::uint32_t word) { return (static_cast<double>(word) + 0.5) / 4294967296.0; }

/// A number of the symmetric Beta distribution: one gamma variate as a share of two.
class BetaDraw {
 public:
  explicit BetaDraw(const ProgramCall& call) : call_(call) {}

  double operator()(double alpha) {
    const double a = gamma(alpha);
    const double b = gamma(alpha);
    return a + b > 0 ? a / (a + b) : 0.5;
  }

 private:
  std::uint32_t word() {
    if (used_ % 4 == 0) words_ = call_.random(1 + used_ / 4);
    return words_[used_++ % 4];
  }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(unit(word())));
    return radius * std::cos(6.283185307179586 * unit(word()));
  }
  /// Marsaglia and Tsang's method.
  double gamma(double alpha) {
    if (alpha < 1) return gamma(alpha + 1) * std::pow(unit(word()), 1 / alpha);
    const double d = alpha - 1.0 / 3;
    const double c = 1 / std::sqrt(9 * d);
    for (int attempt = 0; attempt < 1000; ++attempt) {
      const double x = normal();
      const double v = std::pow(1 + c * x, 3);
      if (v <= 0) continue;
      if (std::log(unit(word())) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
    }
    return d;
  }

  const ProgramCall& call_;
  Philox::Counter words_{};
  std::uint32_t used_ = 0;
};

void mix_labels(ProgramCall& call, double share) {
  const ProgramInput& labels = call.input(1);
  const std::int64_t classes = call.attributes().integer("classes");
  const std::int64_t count = labels.shape()[0];
  Tensor to = call.output({count, classes}, DType::f32, 1);
  auto* const out = to.mutable_data<float>();
  std::fill_n(out, to.elements(), 0.0F);
  const auto add = [&](std::int64_t row, std::int64_t from, float weight) {
    if (labels.dtype() == DType::f32) {
      const float* const shares = labels.as<float>() + from * classes;
      for (std::int64_t c = 0; c < classes; ++c) out[row * classes + c] += weight * shares[c];
      return;
    }
    const std::int64_t label = labels.as<std::int64_t>()[from];
    if (label < 0 || label >= classes) {
      throw DataError(fmt::format("label {} is not one of {} classes", label, classes));
    }
    out[row * classes + label] += weight;
  };
  for (std::int64_t i = 0; i < count; ++i) {
    add(i, i, static_cast<float>(share));
    add(i, (i + count - 1) % count, static_cast<float>(1 - share));
  }
}

void require_same_count(const ProgramCall& call) {
  const std::int64_t pictures = call.input(0).shape()[0];
  const std::int64_t labels = call.input(1).shape()[0];
  if (pictures != labels) {
    throw DataError(fmt::format("{} images with {} labels", pictures, labels));
  }
}

void mix(ProgramCall& call, double share) {
  require_same_count(call);
  const ProgramInput& from = call.input(0);
  Tensor to = call.output(from.shape(), DType::f32);
  const std::int64_t count = from.shape()[0];
  const std::int64_t size = count == 0 ? 0 : from.elements() / count;
  const auto own = static_cast<float>(share);
  const auto others = static_cast<float>(1 - share);
  for (std::int64_t i = 0; i < count; ++i) {
    const float* const here = from.as<float>() + i * size;
    const float* const before = from.as<float>() + (i + count - 1) % count * size;
    float* const out = to.mutable_data<float>() + i * size;
    for (std::int64_t k = 0; k < size; ++k) out[k] = before[k] * others + here[k] * own;
  }
  mix_labels(call, share);
}

/// Of a batch [n, height, width, channels], or with channels before the height.
struct Sizes {
  explicit Sizes(const ProgramCall& call) : planes(call.attributes().flag("planes")) {
    const Shape& shape = call.input(0).shape();
    height = shape[planes ? 2 : 1];
    width = shape[planes ? 3 : 2];
    channels = shape[planes ? 1 : 3];
  }
  bool planes;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
};

/// [x1, x2) x [y1, y2) from the picture before.
struct Box {
  std::int64_t x1 = 0;
  std::int64_t y1 = 0;
  std::int64_t x2 = 0;
  std::int64_t y2 = 0;
};

void cut(ProgramCall& call, const Box& box) {
  require_same_count(call);
  const ProgramInput& from = call.input(0);
  const Sizes sizes(call);
  Tensor to = call.output(from.shape(), DType::f32);
  if (to.nbytes() > 0) std::memcpy(to.raw_mutable_data(), from.data(), to.nbytes());
  const std::int64_t count = from.shape()[0];
  const std::int64_t size = sizes.height * sizes.width * sizes.channels;
  const std::int64_t planes = sizes.planes ? sizes.channels : 1;
  const std::int64_t pixel = sizes.planes ? 1 : sizes.channels;
  for (std::int64_t i = 0; i < count; ++i) {
    const float* const before = from.as<float>() + (i + count - 1) % count * size;
    float* const out = to.mutable_data<float>() + i * size;
    for (std::int64_t p = 0; p < planes; ++p) {
      for (std::int64_t y = box.y1; y < box.y2; ++y) {
        const std::int64_t at = ((p * sizes.height + y) * sizes.width + box.x1) * pixel;
        std::copy_n(before + at, (box.x2 - box.x1) * pixel, out + at);
      }
    }
  }
  const double area = static_cast<double>(sizes.height) * static_cast<double>(sizes.width);
  const auto taken = static_cast<double>((box.x2 - box.x1) * (box.y2 - box.y1));
  mix_labels(call, area > 0 ? 1 - taken / area : 1);
}

void drawn_cut(ProgramCall& call) {
  const Sizes sizes(call);
  const double share = BetaDraw(call)(call.attributes().number("alpha"));
  const Philox::Counter words = call.random(0);
  const auto x = static_cast<std::int64_t>(
      Philox::below(words[0], static_cast<std::uint32_t>(std::max<std::int64_t>(1, sizes.width))));
  const auto y = static_cast<std::int64_t>(
      Philox::below(words[1], static_cast<std::uint32_t>(std::max<std::int64_t>(1, sizes.height))));
  const double half = 0.5 * std::sqrt(1 - share);
  const auto across = static_cast<std::int64_t>(half * static_cast<double>(sizes.width));
  const auto down = static_cast<std::int64_t>(half * static_cast<double>(sizes.height));
  cut(call, {.x1 = std::max<std::int64_t>(0, x - across),
             .y1 = std::max<std::int64_t>(0, y - down),
             .x2 = std::min(sizes.width, x + across),
             .y2 = std::min(sizes.height, y + down)});
}

void given_cut(ProgramCall& call) {
  const Sizes sizes(call);
  const auto within = [&](const char* name, std::int64_t most) {
    return std::clamp<std::int64_t>(call.attributes().integer(name), 0, most);
  };
  Box box{.x1 = within("x", sizes.width), .y1 = within("y", sizes.height), .x2 = 0, .y2 = 0};
  box.x2 = std::min(sizes.width, box.x1 + call.attributes().integer("width"));
  box.y2 = std::min(sizes.height, box.y1 + call.attributes().integer("height"));
  cut(call, box);
}

std::vector<TensorSpec> mix_drawn_specs(const SpecInputs& inputs) {
  const double alpha = inputs.attributes().number("alpha");
  if (!(alpha > 0 && alpha <= 1e6)) {
    inputs.fail(fmt::format("alpha is {}; give more than 0", alpha));
  }
  return mix_batch_specs(inputs);
}

}  // namespace

std::span<const ProgramOp> mix_batch() {
  static constexpr ProgramOp kOps[] = {
      {.name = "mixup",
       .summary = "each image of a batch mixed with the one before, and their labels",
       .inputs = 2,
       .specs = mix_batch_specs,
       .run = [](ProgramCall& call) { mix(call, call.attributes().number("share")); }},
      {.name = "random_mixup",
       .summary = "images of a batch mixed by a share that is drawn, and their labels",
       .inputs = 2,
       .random = true,
       .specs = mix_drawn_specs,
       .run =
           [](ProgramCall& call) { mix(call, BetaDraw(call)(call.attributes().number("alpha"))); }},
      {.name = "cutmix",
       .summary = "a window of each image of a batch from the one before, and their labels",
       .inputs = 2,
       .specs = mix_batch_specs,
       .run = given_cut},
      {.name = "random_cutmix",
       .summary = "a drawn window of each image of a batch from the one before, and their labels",
       .inputs = 2,
       .random = true,
       .specs = mix_drawn_specs,
       .run = drawn_cut},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops

#include "backend/cpu/convolution_division.h"

namespace plimsoll::cpu {
namespace {

using ops::ConvShape;

/// What channel parts are made of, and at multiples of what they are cut.
struct Channels {
  std::int64_t extent;
  std::int64_t block;
  std::int64_t blocks() const { return (extent + block - 1) / block; }
};

Channels channels_of(const ConvSpec& spec) {
  const ConvShape& s = spec.shape;
  if (s.groups > 1) {
    const std::int64_t each = std::min(s.in_channels, s.out_channels) / s.groups;
    return {s.groups, each < kDivisionBlock ? kDivisionBlock : 1};
  }
  return {spec.pass == ConvPass::by_input ? s.in_channels : s.out_channels, kDivisionBlock};
}

}  // namespace

ConvDivision ConvDivision::of(const ConvSpec& spec, int threads, Bytes copied) {
  const ConvShape& s = spec.shape;
  threads = threads_for(static_cast<std::int64_t>(std::min(s.flops() / 2, 0x1p60)), threads);
  const std::int64_t blocks = channels_of(spec).blocks();
  // Each part of the channels reads all channels of the other picture, and each part of the
  // pictures all weights: the smaller of them is better read several times.
  const std::int64_t read =
      spec.pass == ConvPass::by_input ? s.out_shape().elements() : s.in_shape().elements();
  ConvDivision d;
  if (s.groups == 1 && s.weight_shape().elements() > read) {
    d.channels = std::min<std::int64_t>(threads, blocks);
    d.pictures = std::clamp<std::int64_t>(threads / d.channels, 1, s.n);
  } else {
    d.pictures = std::min<std::int64_t>(threads, s.n);
    d.channels = std::clamp<std::int64_t>(threads / d.pictures, 1, blocks);
  }
  if (copied == 0) return d;
  const Bytes elements = static_cast<Bytes>(s.in_shape().elements() + s.out_shape().elements());
  const Bytes each = elements / static_cast<Bytes>(s.n) * dtype_size(spec.dtype);
  const Bytes fitting = std::max<Bytes>(1, copied / static_cast<Bytes>(d.parts()) / each);
  const std::int64_t most = (s.n + d.pictures - 1) / d.pictures;
  d.chunks = std::clamp<std::int64_t>(
      (most + static_cast<std::int64_t>(fitting) - 1) / static_cast<std::int64_t>(fitting), 1,
      s.n / d.pictures);
  return d;
}

Part ConvDivision::channel_part(const ConvSpec& spec, std::int64_t i) const {
  const Channels all = channels_of(spec);
  return Part::of(all.extent, i, channels, all.block);
}

ConvShape part_shape(const ConvSpec& spec, std::int64_t pictures, std::int64_t channels) {
  ConvShape s = spec.shape;
  s.n = pictures;
  if (s.groups > 1) {
    s.in_channels = s.in_channels / s.groups * channels;
    s.out_channels = s.out_channels / s.groups * channels;
    s.groups = channels;
  } else {
    (spec.pass == ConvPass::by_input ? s.in_channels : s.out_channels) = channels;
  }
  return s;
}

ConvOffsets part_offsets(const ConvSpec& spec, std::int64_t picture, std::int64_t channel) {
  const ConvShape& s = spec.shape;
  const std::int64_t in_place = s.nhwc ? 1 : s.in_height * s.in_width;
  const std::int64_t out_place = s.nhwc ? 1 : s.out_height * s.out_width;
  const std::int64_t window = s.kernel_height * s.kernel_width;
  const std::int64_t depth = s.in_channels / s.groups * window;
  ConvOffsets at{.x = picture * s.in_channels * s.in_height * s.in_width,
                 .y = picture * s.out_channels * s.out_height * s.out_width};
  if (s.groups > 1) {
    const std::int64_t out = s.out_channels / s.groups * channel;
    at.x += s.in_channels / s.groups * channel * in_place;
    at.y += out * out_place;
    at.w = out * depth;
    at.bias = out;
  } else if (spec.pass == ConvPass::by_input) {
    at.x += channel * in_place;
    at.w = channel * window;
  } else {
    at.y += channel * out_place;
    at.w = channel * depth;
    at.bias = channel;
  }
  return at;
}

}  // namespace plimsoll::cpu

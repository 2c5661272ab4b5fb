// The three passes of single convolutions on a GPU, recorded as a step is. Reads lines
//
//   PRECISION NHWC N IN HEIGHT WIDTH OUT GROUPS KERNEL_H KERNEL_W STRIDE_H STRIDE_W DILATION_H
//   DILATION_W TOP BOTTOM LEFT RIGHT
//
// and answers each with a line of JSON: of each pass the microseconds, those predicted, and whether
// elements that were looked at are right. bench/convolutions.py runs it beside PyTorch.
#include <array>
#include <cmath>
#include <random>

#include <plimsoll/device/choices.h>
#include <plimsoll/ops/convolution_route.h>

#include "single_op.h"

namespace {

using namespace plimsoll;
using namespace plimsoll::bench;
using ops::ConvPass;
using ops::ConvShape;

struct Pixel {
  std::int64_t n, channel, row, column;
};

/// Where a picture has an element, and back.
std::int64_t offset(const ConvShape& s, bool of_x, const Pixel& p) {
  const std::int64_t channels = of_x ? s.in_channels : s.out_channels;
  const std::int64_t height = of_x ? s.in_height : s.out_height;
  const std::int64_t width = of_x ? s.in_width : s.out_width;
  return s.nhwc ? ((p.n * height + p.row) * width + p.column) * channels + p.channel
                : ((p.n * channels + p.channel) * height + p.row) * width + p.column;
}

Pixel pixel_at(const ConvShape& s, bool of_x, std::int64_t at) {
  const std::int64_t channels = of_x ? s.in_channels : s.out_channels;
  const std::int64_t height = of_x ? s.in_height : s.out_height;
  const std::int64_t width = of_x ? s.in_width : s.out_width;
  if (s.nhwc) {
    return {at / (channels * width * height), at % channels, at / (channels * width) % height,
            at / channels % width};
  }
  return {at / (channels * width * height), at / (width * height) % channels, at / width % height,
          at % width};
}

/// x[..] w[..] of the result's pixel `y` and the weight's (`in` of the group, ky, kx), or nothing
/// where that is outside; `visit` gets the offsets.
template <typename Visit>
void window_of(const ConvShape& s, const Pixel& y, Visit&& visit) {
  const std::int64_t in = s.in_channels / s.groups;
  const std::int64_t group = y.channel / (s.out_channels / s.groups);
  for (std::int64_t ky = 0; ky < s.kernel_height; ++ky) {
    const std::int64_t row = y.row * s.stride_down - s.padding.top + ky * s.dilation_down;
    if (row < 0 || row >= s.in_height) continue;
    for (std::int64_t kx = 0; kx < s.kernel_width; ++kx) {
      const std::int64_t column =
          y.column * s.stride_across - s.padding.left + kx * s.dilation_across;
      if (column < 0 || column >= s.in_width) continue;
      for (std::int64_t c = 0; c < in; ++c) {
        visit(offset(s, true, {y.n, group * in + c, row, column}),
              ((y.channel * in + c) * s.kernel_height + ky) * s.kernel_width + kx);
      }
    }
  }
}

struct Sum {
  double value = 0;
  std::int64_t terms = 0;
};

Sum sum_forward(const ConvShape& s, const Numbers& x, const Numbers& w, std::int64_t at) {
  Sum sum;
  window_of(s, pixel_at(s, false, at), [&](std::int64_t from, std::int64_t weight) {
    sum.value += x[from] * w[weight];
    ++sum.terms;
  });
  return sum;
}

Sum sum_by_input(const ConvShape& s, const Numbers& y, const Numbers& w, std::int64_t at) {
  Sum sum;
  const Pixel p = pixel_at(s, true, at);
  const std::int64_t in = s.in_channels / s.groups;
  const std::int64_t out = s.out_channels / s.groups;
  for (std::int64_t ky = 0; ky < s.kernel_height; ++ky) {
    const std::int64_t row = p.row + s.padding.top - ky * s.dilation_down;
    if (row < 0 || row % s.stride_down != 0 || row / s.stride_down >= s.out_height) continue;
    for (std::int64_t kx = 0; kx < s.kernel_width; ++kx) {
      const std::int64_t column = p.column + s.padding.left - kx * s.dilation_across;
      if (column < 0 || column % s.stride_across != 0) continue;
      if (column / s.stride_across >= s.out_width) continue;
      for (std::int64_t o = 0; o < out; ++o) {
        const std::int64_t channel = p.channel / in * out + o;
        const Pixel from{p.n, channel, row / s.stride_down, column / s.stride_across};
        const std::int64_t weight =
            ((channel * in + p.channel % in) * s.kernel_height + ky) * s.kernel_width + kx;
        sum.value += y[offset(s, false, from)] * w[weight];
        ++sum.terms;
      }
    }
  }
  return sum;
}

Sum sum_by_weight(const ConvShape& s, const Numbers& x, const Numbers& y, std::int64_t at) {
  Sum sum;
  const std::int64_t kx = at % s.kernel_width;
  const std::int64_t ky = at / s.kernel_width % s.kernel_height;
  const std::int64_t in = s.in_channels / s.groups;
  const std::int64_t channel = at / (s.kernel_width * s.kernel_height) % in;
  const std::int64_t out = at / (s.kernel_width * s.kernel_height) / in;
  const std::int64_t from = out / (s.out_channels / s.groups) * in + channel;
  for (std::int64_t n = 0; n < s.n; ++n) {
    for (std::int64_t i = 0; i < s.out_height; ++i) {
      const std::int64_t row = i * s.stride_down - s.padding.top + ky * s.dilation_down;
      if (row < 0 || row >= s.in_height) continue;
      for (std::int64_t j = 0; j < s.out_width; ++j) {
        const std::int64_t column = j * s.stride_across - s.padding.left + kx * s.dilation_across;
        if (column < 0 || column >= s.in_width) continue;
        sum.value +=
            x[offset(s, true, {n, from, row, column})] * y[offset(s, false, {n, out, i, j})];
        ++sum.terms;
      }
    }
  }
  return sum;
}

struct Errors {
  int count = -1;    ///< elements that are further off than they may be; -1: too large to look at
  double worst = 0;  ///< the largest error, as a share of what is allowed
};

/// Some elements of a result against sums in double.
Errors errors(const ConvShape& s, ConvPass pass, bool tf32, const Tensor& a, const Tensor& b,
              const Tensor& c) {
  if (a.type().bytes() + b.type().bytes() + c.type().bytes() > MiB(64)) return {};
  const Numbers left(a);
  const Numbers right(b);
  const Numbers result(c);
  std::mt19937_64 random(5);
  const std::int64_t elements = c.shape().elements();
  const double relative = a.dtype() == DType::f32 ? 1e-5 : a.dtype() == DType::f16 ? 1e-3 : 8e-3;
  // Of a sum of typical size: the library may round parts of it to 16 bits.
  const double absolute = tf32 || a.dtype() == DType::bf16 ? 4e-3
                          : a.dtype() == DType::f16        ? 5e-4
                                                           : 2e-4;
  const int looks = pass == ConvPass::by_weight ? 16 : 48;
  Errors found{.count = 0};
  for (int i = 0; i < looks; ++i) {
    // The first and the last elements are where copies would go wrong.
    const std::int64_t at =
        i < 4   ? std::min<std::int64_t>(i, elements - 1)
        : i < 8 ? std::max<std::int64_t>(elements - 1 - (i - 4), 0)
                : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(elements));
    const Sum sum = pass == ConvPass::forward    ? sum_forward(s, left, right, at)
                    : pass == ConvPass::by_input ? sum_by_input(s, left, right, at)
                                                 : sum_by_weight(s, left, right, at);
    const double most =
        relative * std::abs(sum.value) +
        absolute * std::sqrt(static_cast<double>(std::max<std::int64_t>(sum.terms, 1)));
    const double error = std::abs(result[at] - sum.value);
    if (!(error <= most)) ++found.count;
    found.worst = std::max(found.worst, error / most);
  }
  return found;
}

const char* kernel_name(ops::ConvKernel kernel) {
  constexpr std::array kNames = {"library", "depthwise", "products", "plain"};
  return kNames.at(static_cast<std::size_t>(kernel));
}

nlohmann::json convolution(std::istringstream& words, const Place& place) {
  std::string precision;
  ConvShape s;
  words >> precision >> s.nhwc >> s.n >> s.in_channels >> s.in_height >> s.in_width >>
      s.out_channels >> s.groups >> s.kernel_height >> s.kernel_width >> s.stride_down >>
      s.stride_across >> s.dilation_down >> s.dilation_across >> s.padding.top >>
      s.padding.bottom >> s.padding.left >> s.padding.right;
  s.out_height = (s.in_height + s.padding.top + s.padding.bottom -
                  s.dilation_down * (s.kernel_height - 1) - 1) /
                     s.stride_down +
                 1;
  s.out_width = (s.in_width + s.padding.left + s.padding.right -
                 s.dilation_across * (s.kernel_width - 1) - 1) /
                    s.stride_across +
                1;
  const DType dtype = dtype_named(precision);
  const bool tf32 = precision == "tf32";
  ops::ConvOptions options;
  options.stride = {s.stride_down, s.stride_across};
  options.dilation = {s.dilation_down, s.dilation_across};
  options.padding = s.padding;
  options.groups = s.groups;
  options.layout = s.nhwc ? Layout::channels_last : Layout::channels_first;
  const auto attributes = [&](const Shape* shape) {
    Attributes all = ops::conv_attributes(options);
    if (tf32) all.set("tf32", true);
    if (shape != nullptr) all.set("shape", ops::to_integers(*shape));
    return all;
  };
  const Tensor x = random(s.in_shape(), dtype, place.device);
  const Tensor w = random(s.weight_shape(), dtype, place.device);
  const Tensor y = random(s.out_shape(), dtype, place.device);
  const Shape in = s.in_shape();
  const Shape weight = s.weight_shape();
  nlohmann::json reply;
  const auto add = [&](const char* name, ConvPass pass, const char* op, const Tensor& a,
                       const Tensor& b, const Attributes& with) {
    const Choices before = library_choices(place.device);
    const Call call(op, {a, b}, with, place.device);
    const ops::ConvRoute route = ops::conv_route(s, pass, dtype, tf32);
    const double took = microseconds(call, place.device, place.stream);
    const Errors found = errors(s, pass, tf32, a, b, call.results[0]);
    reply[name] = {{"us", took},
                   {"predicted", call.predicted(place.described)},
                   {"errors", found.count},
                   {"worst", found.worst},
                   {"kernel", kernel_name(route.kernel)},
                   {"parts", route.parts},
                   {"workspace", call.workspace},
                   {"within", call.workspace <= call.allowed}};
    if (found.count <= 0) return;
    for (const auto& [key, choice] : library_choices(place.device)) {
      if (before.count(key) == 0) reply[name]["choices"].push_back(choice);
    }
  };
  add("forward", ConvPass::forward, "conv2d", x, w, attributes(nullptr));
  add("by_input", ConvPass::by_input, "conv2d_transpose", y, w, attributes(&in));
  add("by_weight", ConvPass::by_weight, "conv2d_weight_grad", x, y, attributes(&weight));
  return reply;
}

}  // namespace

int main() { return answer_lines(convolution); }

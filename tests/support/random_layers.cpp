#include "support/random_layers.h"

#include <plimsoll/math/arrange.h>
#include <plimsoll/nn/convolution.h>
#include <plimsoll/nn/convolution1d.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/group_norm.h>
#include <plimsoll/nn/multi_head_attention.h>
#include <plimsoll/nn/normalization.h>
#include <plimsoll/nn/pooling.h>
#include <plimsoll/nn/recurrent.h>
#include <plimsoll/nn/volume.h>
#include <plimsoll/ops/cumulative.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/softmax.h>

#include "support/random_cases.h"
#include "support/random_functions.h"

namespace plimsoll::nn {
namespace {

using Settings = test::RandomSettings;

template <typename Make>
void expect_all(const std::string& name, const Make& make) {
  test::expect_random("random", name, make);
}

/// The same for functions of one tensor and an axis.
void expect_along(const std::string& name, Tensor (*function)(const Tensor& x, int axis),
                  int first = 0) {
  const auto make = [&](Settings& s) {
    const int axis = s.axis();
    return [=](const Tensors& in) { return Tensors{function(in[0], axis)}; };
  };
  test::expect_random("random", name, make, first);
}

VolumePadding padding_of(const Triple& t) { return {t.depth, t.down, t.across}; }
WindowPadding padding_of(const Pair& p) { return {p.down, p.across}; }

void check_convolutions() {
  expect_all("conv1d", [](Settings& s) {
    const std::int64_t out = s.next();
    const std::int64_t size = s.next();
    Conv1DOptions o;
    o.stride = s.next();
    o.padding = s.next();
    o.dilation = s.next();
    o.groups = s.next();
    o.bias = s.flag();
    return Conv1D(out, size, o);
  });
  expect_all("conv2d", [](Settings& s) {
    const std::int64_t out = s.next();
    const Pair size = s.pair();
    Conv2DOptions o;
    o.stride = s.pair();
    o.padding = padding_of(s.pair());
    o.dilation = s.pair();
    o.groups = s.next();
    o.bias = s.flag();
    return Conv2D(out, size, o);
  });
  expect_all("conv3d", [](Settings& s) {
    const std::int64_t out = s.next();
    const Triple size = s.triple();
    Conv3DOptions o;
    o.stride = s.triple();
    o.padding = padding_of(s.triple());
    o.dilation = s.triple();
    o.groups = s.next();
    o.bias = s.flag();
    return Conv3D(out, size, o);
  });
}

/// What the three transposed convolutions have in common, once `size` is read.
template <typename Options, typename Read>
Options transposed(Settings& s, Read read) {
  Options o;
  o.stride = read();
  o.padding = read();
  o.output_padding = read();
  o.dilation = read();
  o.groups = s.next();
  o.bias = s.flag();
  return o;
}

void check_transposed() {
  expect_all("transpose1d", [](Settings& s) {
    const std::int64_t out = s.next();
    const std::int64_t size = s.next();
    return ConvTranspose1D(out, size,
                           transposed<ConvTranspose1DOptions>(s, [&] { return s.next(); }));
  });
  expect_all("transpose2d", [](Settings& s) {
    const std::int64_t out = s.next();
    const Pair size = s.pair();
    return ConvTranspose2D(out, size,
                           transposed<ConvTranspose2DOptions>(s, [&] { return s.pair(); }));
  });
  expect_all("transpose3d", [](Settings& s) {
    const std::int64_t out = s.next();
    const Triple size = s.triple();
    return ConvTranspose3D(out, size,
                           transposed<ConvTranspose3DOptions>(s, [&] { return s.triple(); }));
  });
}

template <typename Pool1, typename Pool2, typename Pool3>
void expect_pools(const std::string& kind) {
  expect_all(kind + "_pool1d", [](Settings& s) {
    const std::int64_t size = s.next();
    const std::int64_t stride = s.next();
    return Pool1(size, {.stride = stride, .padding = s.next()});
  });
  expect_all(kind + "_pool2d", [](Settings& s) {
    const Pair size = s.pair();
    const Pair stride = s.pair();
    return Pool2(size, {.stride = stride, .padding = padding_of(s.pair())});
  });
  expect_all(kind + "_pool3d", [](Settings& s) {
    const Triple size = s.triple();
    const Triple stride = s.triple();
    return Pool3(size, {.stride = stride, .padding = padding_of(s.triple())});
  });
}

void check_pooling() {
  expect_pools<MaxPool1D, MaxPool2D, MaxPool3D>("max");
  expect_pools<AvgPool1D, AvgPool2D, AvgPool3D>("avg");
}

void check_norms() {
  expect_all("batch_norm", [](Settings&) { return BatchNorm(); });
  expect_all("group_norm", [](Settings& s) { return GroupNorm(s.next()); });
  expect_all("layer_norm", [](Settings&) { return LayerNorm(); });
  expect_all("rms_norm", [](Settings&) { return RMSNorm(); });
  expect_all("dense", [](Settings& s) {
    const std::int64_t out = s.next();
    return Dense(out, {.bias = s.flag()});
  });
}

template <typename Layer>
Layer recurrent(Settings& s) {
  RecurrentOptions o;
  o.in = s.next();
  const std::int64_t hidden = s.next();
  o.layers = s.next();
  o.bidirectional = s.flag();
  o.bias = s.flag();
  return Layer(hidden, o);
}

void check_recurrent() {
  expect_all("lstm", recurrent<LSTM>);
  expect_all("gru", recurrent<GRU>);
  expect_all("rnn", recurrent<SimpleRNN>);
}

void check_functions() {
  expect_along("softmax", [](const Tensor& x, int axis) { return ops::softmax(x, axis); });
  expect_along("log_softmax", [](const Tensor& x, int axis) { return ops::log_softmax(x, axis); });
  expect_along("cumsum", [](const Tensor& x, int axis) { return ops::cumsum(x, axis); });
  expect_along("cumprod", [](const Tensor& x, int axis) { return ops::cumprod(x, axis); });
  expect_along("sort", [](const Tensor& x, int axis) { return ops::sort(x, axis).first; });
  expect_along("flip", [](const Tensor& x, int axis) { return math::flip(x, axis); });
  expect_along("roll", [](const Tensor& x, int axis) { return math::roll(x, 2, axis); });
  expect_along("repeat", [](const Tensor& x, int axis) { return math::repeat(x, 2, axis); });
  // Of nothing there is no mean, and case 1 has nothing.
  expect_along(
      "mean", [](const Tensor& x, int axis) { return ops::mean(x, {.axes = {axis}}); }, 2);
  expect_along(
      "variance", [](const Tensor& x, int axis) { return ops::variance(x, {.axes = {axis}}); }, 2);
}

void check_attention() {
  expect_all("attention", [](Settings& s) {
    const bool causal = s.flag();
    return [causal](const Tensors& in) {
      const Tensor mask = in.size() > 3 ? in[3] : Tensor();
      return Tensors{attention(in[0], in[1], in[2], {.causal = causal, .key_mask = mask})};
    };
  });
}

}  // namespace
}  // namespace plimsoll::nn

namespace plimsoll::test {

const std::vector<RandomFamily>& random_families() {
  static const std::vector<RandomFamily> all = [] {
    std::vector<RandomFamily> found = {
        {"Convolutions", nn::check_convolutions}, {"TransposedConvolutions", nn::check_transposed},
        {"Pooling", nn::check_pooling},           {"Norms", nn::check_norms},
        {"Recurrent", nn::check_recurrent},       {"Functions", nn::check_functions},
        {"Attention", nn::check_attention},
    };
    for (const auto& more :
         {random_functions(), random_tensors(), random_losses(), random_modules()}) {
      found.insert(found.end(), more.begin(), more.end());
    }
    return found;
  }();
  return all;
}

}  // namespace plimsoll::test

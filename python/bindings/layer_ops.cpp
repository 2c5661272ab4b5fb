// Ops that layers are made of.
#include <array>

#include <nanobind/stl/tuple.h>

#include <plimsoll/ops/convolution.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/recurrent_cells.h>
#include <plimsoll/ops/softmax.h>

#include "bind.h"
#include "convert.h"
#include "ops.h"
#include "process.h"

namespace plimsoll::python {
namespace {

/// One number for both, or (down, across).
std::array<std::int64_t, 2> pair_of(nb::handle value, Where where) {
  const std::vector<std::int64_t> ints = as_ints(value, where);
  if (ints.size() == 1) return {ints[0], ints[0]};
  if (ints.size() == 2) return {ints[0], ints[1]};
  wrong_value(where, value, "it must be one integer, or two: (down, across)");
}

/// One number, (down, across), or (top, bottom, left, right).
ops::Padding padding_of(nb::handle value, Where where) {
  const std::vector<std::int64_t> ints = as_ints(value, where);
  if (ints.size() == 1) return ops::Padding::all(ints[0]);
  if (ints.size() == 2) return {ints[0], ints[0], ints[1], ints[1]};
  if (ints.size() == 4) return {ints[0], ints[1], ints[2], ints[3]};
  wrong_value(where, value,
              "it must be 1, 2 (down, across) or 4 (top, bottom, left, right) integers");
}

ops::ConvOptions conv(const char* who, nb::handle stride, nb::handle padding, nb::handle dilation,
                      nb::handle groups, nb::handle layout) {
  return {pair_of(stride, {who, "stride"}), padding_of(padding, {who, "padding"}),
          pair_of(dilation, {who, "dilation"}), as_int(groups, {who, "groups"}),
          as_layout(layout, {who, "layout"})};
}

#define PLIMSOLL_CONV_ARGS                                                               \
  nb::kw_only(), nb::arg("stride") = 1, nb::arg("padding") = 0, nb::arg("dilation") = 1, \
                 nb::arg("groups") = 1, nb::arg("layout") = "channels_first"

constexpr const char* kConvSig =
    "*, stride: int | typing.Sequence[int] = 1, padding: int | typing.Sequence[int] = 0, dilation: "
    "int | typing.Sequence[int] = 1, groups: int = 1, layout: str = 'channels_first') -> Tensor";

void pooling(nb::module_& m, const char* name, Tensor (*op)(const Tensor&, const ops::PoolOptions&),
             const char* doc) {
  m.def(
      name,
      [name, op](nb::handle x, nb::handle size, nb::handle stride, nb::handle padding,
                 nb::handle layout) {
        const Tensor given = as_tensor(x, {name, "x"});
        const auto window = pair_of(size, {name, "size"});
        const ops::PoolOptions options{
            window, stride.is_none() ? window : pair_of(stride, {name, "stride"}),
            padding_of(padding, {name, "padding"}), as_layout(layout, {name, "layout"})};
        const Unlocked unlocked;
        return op(given, options);
      },
      nb::arg("x"), nb::arg("size") = 2, nb::kw_only(), nb::arg("stride").none() = nb::none(),
      nb::arg("padding") = 0, nb::arg("layout") = "channels_first",
      nb::sig(
          ("def " + std::string(name) +
           "(x: Tensor | Variable, size: int | typing.Sequence[int] = 2, *, stride: int | "
           "typing.Sequence[int] | None = None, padding: int | typing.Sequence[int] = 0, layout: "
           "str = 'channels_first') -> Tensor")
              .c_str()),
      doc);
}

void bind_convolutions(nb::module_& m) {
  m.def(
      "conv2d",
      [](nb::handle x, nb::handle weight, nb::handle bias, nb::handle stride, nb::handle padding,
         nb::handle dilation, nb::handle groups, nb::handle layout) {
        const Tensor given = as_tensor(x, {"conv2d", "x"});
        const Tensor by = as_tensor(weight, {"conv2d", "weight"});
        const Tensor plus = as_optional_tensor(bias, {"conv2d", "bias"});
        const ops::ConvOptions options = conv("conv2d", stride, padding, dilation, groups, layout);
        const Unlocked unlocked;
        return ops::conv2d(given, by, plus, options);
      },
      nb::arg("x"), nb::arg("weight"), nb::arg("bias").none() = nb::none(), PLIMSOLL_CONV_ARGS,
      nb::sig(
          (std::string("def conv2d(x: Tensor | Variable, weight: Tensor | Variable, bias: Tensor "
                       "| Variable | None = None, ") +
           kConvSig)
              .c_str()),
      "Cross-correlation of x with weight [out, in/groups, height, width], plus bias [out].");
  m.def(
      "conv2d_transpose",
      [](nb::handle y, nb::handle weight, nb::handle shape, nb::handle stride, nb::handle padding,
         nb::handle dilation, nb::handle groups, nb::handle layout) {
        const Tensor given = as_tensor(y, {"conv2d_transpose", "y"});
        const Tensor by = as_tensor(weight, {"conv2d_transpose", "weight"});
        const Shape dims = as_shape(shape, {"conv2d_transpose", "shape"});
        const ops::ConvOptions options =
            conv("conv2d_transpose", stride, padding, dilation, groups, layout);
        const Unlocked unlocked;
        return ops::conv2d_transpose(given, by, dims, options);
      },
      nb::arg("y"), nb::arg("weight"), nb::arg("shape"), PLIMSOLL_CONV_ARGS,
      nb::sig((std::string("def conv2d_transpose(y: Tensor | Variable, weight: Tensor | Variable, "
                           "shape: typing.Sequence[int], ") +
               kConvSig)
                  .c_str()),
      "The gradient of conv2d by its input: transposed convolution. `shape` is the result's.");
  pooling(m, "max_pool2d", ops::max_pool2d, "The largest in each window.");
  pooling(m, "avg_pool2d", ops::avg_pool2d, "The mean of each window.");
  m.def(
      "global_avg_pool2d",
      [](nb::handle x, nb::handle layout) {
        const Tensor given = as_tensor(x, {"global_avg_pool2d", "x"});
        const Layout how = as_layout(layout, {"global_avg_pool2d", "layout"});
        const Unlocked unlocked;
        return ops::global_avg_pool2d(given, how);
      },
      nb::arg("x"), nb::kw_only(), nb::arg("layout") = "channels_first",
      nb::sig("def global_avg_pool2d(x: Tensor | Variable, *, layout: str = 'channels_first') -> "
              "Tensor"),
      "The mean over height and width: [n, channels].");
  m.def(
      "upsample_nearest2d",
      [](nb::handle x, nb::handle factor, nb::handle layout) {
        const Tensor given = as_tensor(x, {"upsample_nearest2d", "x"});
        const std::int64_t by = as_int(factor, {"upsample_nearest2d", "factor"});
        const Layout how = as_layout(layout, {"upsample_nearest2d", "layout"});
        const Unlocked unlocked;
        return ops::upsample_nearest2d(given, by, how);
      },
      nb::arg("x"), nb::arg("factor"), nb::kw_only(), nb::arg("layout") = "channels_first",
      nb::sig("def upsample_nearest2d(x: Tensor | Variable, factor: int, *, layout: str = "
              "'channels_first') "
              "-> Tensor"),
      "Every pixel repeated `factor` times down and across.");
}

void bind_normalizations(nb::module_& m) {
  m.def(
      "batch_norm",
      [](nb::handle x, nb::handle scale, nb::handle bias, nb::handle epsilon, nb::handle layout) {
        const Tensor given = as_tensor(x, {"batch_norm", "x"});
        const Tensor by = as_tensor(scale, {"batch_norm", "scale"});
        const Tensor plus = as_tensor(bias, {"batch_norm", "bias"});
        const double least = as_double(epsilon, {"batch_norm", "epsilon"});
        const Layout how = as_layout(layout, {"batch_norm", "layout"});
        const Unlocked unlocked;
        const ops::BatchNormResult result = ops::batch_norm(given, by, plus, least, how);
        return std::tuple(result.y, result.mean, result.variance);
      },
      nb::arg("x"), nb::arg("scale"), nb::arg("bias"), nb::kw_only(), nb::arg("epsilon") = 1e-5,
      nb::arg("layout") = "channels_first",
      nb::sig("def batch_norm(x: Tensor | Variable, scale: Tensor | Variable, bias: Tensor | "
              "Variable, *, "
              "epsilon: float = 1e-05, layout: str = 'channels_first') -> tuple[Tensor, Tensor, "
              "Tensor]"),
      "Over all but the channels, with the batch's own statistics: the result, its mean and "
      "variance.");
  m.def(
      "group_norm",
      [](nb::handle x, nb::handle scale, nb::handle bias, nb::handle groups, nb::handle epsilon,
         nb::handle layout) {
        const Tensor given = as_tensor(x, {"group_norm", "x"});
        const Tensor by = as_tensor(scale, {"group_norm", "scale"});
        const Tensor plus = as_tensor(bias, {"group_norm", "bias"});
        const std::int64_t count = as_int(groups, {"group_norm", "groups"});
        const double least = as_double(epsilon, {"group_norm", "epsilon"});
        const Layout how = as_layout(layout, {"group_norm", "layout"});
        const Unlocked unlocked;
        return ops::group_norm(given, by, plus, count, least, how);
      },
      nb::arg("x"), nb::arg("scale"), nb::arg("bias"), nb::arg("groups"), nb::kw_only(),
      nb::arg("epsilon") = 1e-5, nb::arg("layout") = "channels_first",
      nb::sig("def group_norm(x: Tensor | Variable, scale: Tensor | Variable, bias: Tensor | "
              "Variable, groups: int, *, epsilon: float = 1e-05, layout: str = 'channels_first') "
              "-> Tensor"),
      "Over the channels of a group and all pixels, each picture of x [n, channels, height, width] "
      "by itself. `pm.nn.group_norm` takes inputs of any rank.");
  m.def(
      "layer_norm",
      [](nb::handle x, nb::handle scale, nb::handle bias, nb::handle epsilon) {
        const Tensor given = as_tensor(x, {"layer_norm", "x"});
        const Tensor by = as_tensor(scale, {"layer_norm", "scale"});
        const Tensor plus = as_optional_tensor(bias, {"layer_norm", "bias"});
        const double least = as_double(epsilon, {"layer_norm", "epsilon"});
        const Unlocked unlocked;
        return ops::layer_norm(given, by, plus, least);
      },
      nb::arg("x"), nb::arg("scale"), nb::arg("bias").none() = nb::none(), nb::kw_only(),
      nb::arg("epsilon") = 1e-5,
      nb::sig("def layer_norm(x: Tensor | Variable, scale: Tensor | Variable, bias: Tensor | "
              "Variable | None "
              "= None, *, epsilon: float = 1e-05) -> Tensor"),
      "Over the last dimension.");
  m.def(
      "rms_norm",
      [](nb::handle x, nb::handle scale, nb::handle epsilon) {
        const Tensor given = as_tensor(x, {"rms_norm", "x"});
        const Tensor by = as_tensor(scale, {"rms_norm", "scale"});
        const double least = as_double(epsilon, {"rms_norm", "epsilon"});
        const Unlocked unlocked;
        return ops::rms_norm(given, by, least);
      },
      nb::arg("x"), nb::arg("scale"), nb::kw_only(), nb::arg("epsilon") = 1e-6,
      nb::sig("def rms_norm(x: Tensor | Variable, scale: Tensor | Variable, *, epsilon: float = "
              "1e-06) -> Tensor"),
      "x / sqrt(mean(x * x) + epsilon) * scale over the last dimension.");
  unary_with(m, "dropout", ops::dropout, "rate", 0.5,
             "Each element is 0 with probability `rate`, and otherwise x / (1 - rate).");
  m.def(
      "attention",
      [](nb::handle q, nb::handle k, nb::handle v, bool causal, nb::handle scale,
         nb::handle key_mask) {
        const Tensor queries = as_tensor(q, {"attention", "q"});
        const Tensor keys = as_tensor(k, {"attention", "k"});
        const Tensor values = as_tensor(v, {"attention", "v"});
        const double by = as_double(scale, {"attention", "scale"});
        const Tensor mask = as_optional_tensor(key_mask, {"attention", "key_mask"});
        const Unlocked unlocked;
        return ops::attention(queries, keys, values,
                              {.causal = causal, .scale = by, .key_mask = mask});
      },
      nb::arg("q"), nb::arg("k"), nb::arg("v"), nb::kw_only(), nb::arg("causal") = false,
      nb::arg("scale") = 0.0, nb::arg("key_mask") = nb::none(),
      nb::sig(
          "def attention(q: Tensor | Variable, k: Tensor | Variable, v: Tensor | Variable, *, "
          "causal: bool = False, scale: float = 0.0, key_mask: Tensor | Variable | None = None) "
          "-> Tensor"),
      "softmax(q k^T * scale) v without the whole matrix of scores; scale 0 means 1 / sqrt(size). "
      "k and v may have fewer heads than q, which they must divide. `key_mask` (bool [..., keys]) "
      "says which keys count.");
  m.def(
      "self_attention",
      [](nb::handle qkv, nb::handle heads, bool causal, nb::handle scale, nb::handle key_heads,
         nb::handle key_mask) {
        const Tensor given = as_tensor(qkv, {"self_attention", "qkv"});
        const std::int64_t count = as_int(heads, {"self_attention", "heads"});
        const double by = as_double(scale, {"self_attention", "scale"});
        const std::int64_t of_keys = as_int(key_heads, {"self_attention", "key_heads"});
        const Tensor mask = as_optional_tensor(key_mask, {"self_attention", "key_mask"});
        const Unlocked unlocked;
        return ops::self_attention(given, {.heads = count,
                                           .causal = causal,
                                           .scale = by,
                                           .key_heads = of_keys,
                                           .key_mask = mask});
      },
      nb::arg("qkv"), nb::arg("heads"), nb::kw_only(), nb::arg("causal") = false,
      nb::arg("scale") = 0.0, nb::arg("key_heads") = 0, nb::arg("key_mask") = nb::none(),
      nb::sig("def self_attention(qkv: Tensor | Variable, heads: int, *, causal: bool = False, "
              "scale: float = 0.0, key_heads: int = 0, key_mask: Tensor | Variable | None = None) "
              "-> Tensor"),
      "Attention on queries, keys and values as one product gives them: [n, tokens, (heads + 2 * "
      "key_heads) * size], where key_heads 0 means as many as heads. `key_mask` (bool [n, tokens]) "
      "says which keys count.");
}

void bind_cells(nb::module_& m) {
  m.def(
      "lstm_cell",
      [](nb::handle x, nb::handle s, nb::handle c) {
        const Tensor given = as_tensor(x, {"lstm_cell", "x"});
        const Tensor product = as_tensor(s, {"lstm_cell", "s"});
        const Tensor before = as_tensor(c, {"lstm_cell", "c"});
        const Unlocked unlocked;
        const ops::LstmCellResult result = ops::lstm_cell(given, product, before);
        return std::tuple(result.h, result.c, result.gates);
      },
      nb::arg("x"), nb::arg("s"), nb::arg("c"),
      nb::sig("def lstm_cell(x: Tensor | Variable, s: Tensor | Variable, c: Tensor | Variable) -> "
              "tuple[Tensor, Tensor, Tensor]"),
      "One step of an LSTM behind its products x and s [..., 4 * hidden], with the gates input, "
      "forget, cell and output, and the old c: the new h and c, and the gates.");
  m.def(
      "gru_cell",
      [](nb::handle x, nb::handle s, nb::handle h) {
        const Tensor given = as_tensor(x, {"gru_cell", "x"});
        const Tensor product = as_tensor(s, {"gru_cell", "s"});
        const Tensor before = as_tensor(h, {"gru_cell", "h"});
        const Unlocked unlocked;
        const ops::GruCellResult result = ops::gru_cell(given, product, before);
        return std::tuple(result.h, result.gates);
      },
      nb::arg("x"), nb::arg("s"), nb::arg("h"),
      nb::sig("def gru_cell(x: Tensor | Variable, s: Tensor | Variable, h: Tensor | Variable) -> "
              "tuple[Tensor, Tensor]"),
      "One step of a GRU behind its products x and s [..., 3 * hidden], with the gates reset, "
      "update and new, and the old h: the new h, and [..., 4 * hidden] for gradients.");
}

}  // namespace

void bind_layer_ops(nb::module_& m) {
  bind_convolutions(m);
  bind_normalizations(m);
  bind_cells(m);
}

}  // namespace plimsoll::python

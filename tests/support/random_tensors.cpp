#include <array>

#include <plimsoll/math/arrange.h>
#include <plimsoll/math/einsum.h>
#include <plimsoll/math/index.h>
#include <plimsoll/nn/padding.h>
#include <plimsoll/nn/pooling.h>
#include <plimsoll/nn/upsampling.h>
#include <plimsoll/nn/volume.h>
#include <plimsoll/ops/cumulative.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>

#include "support/random_cases.h"
#include "support/random_functions.h"

namespace plimsoll::test {
namespace {

using math::Norm;
using nn::Tensors;
using Settings = RandomSettings;

void check_reductions() {
  struct Reduction {
    const char* name;
    Tensor (*function)(const Tensor& x, const ops::ReduceOptions& options);
  };
  using Options = ops::ReduceOptions;
  for (const Reduction& each :
       {Reduction{"sum", ops::sum}, Reduction{"max", ops::max}, Reduction{"min", ops::min},
        Reduction{"prod", ops::prod},
        Reduction{"norm", [](const Tensor&x,
                             const Options&o) { return math::norm(x, Norm::euclidean, o); }},
        Reduction{"norm_absolute",
                  [](const Tensor&x, const Options&o) { return math::norm(x, Norm::absolute, o); }},
        Reduction{"norm_largest", [](const Tensor&x, const Options&o) {
                    return math::norm(x, Norm::largest, o);
                  }}}) {
    expect_function(each.name, [&](Settings& s) {
      const bool keep = s.flag();
      const Options options = {.axes = s.rest(), .keep_dims = keep};
      return [&each, options](const Tensors& in) { return Tensors{each.function(in[0], options)}; };
    });
  }
}

void check_orders() {
  expect_function("top_k", [](Settings& s) {
    const std::int64_t k = s.next();
    return [k](const Tensors& in) { return Tensors{ops::top_k(in[0], k).first}; };
  });
  expect_function("sort_falling", [](Settings&) {
    return
        [](const Tensors& in) { return Tensors{ops::sort(in[0], -1, {.descending = true}).first}; };
  });
  const auto expect_cumulative = [](const char* name, auto function) {
    expect_function(name, [function](Settings& s) {
      ops::CumulativeOptions options;
      options.reverse = s.flag();
      options.exclusive = s.flag();
      return [=](const Tensors& in) { return Tensors{function(in[0], -1, options)}; };
    });
  };
  expect_cumulative("cumsum_ways", ops::cumsum);
  expect_cumulative("cumprod_ways", ops::cumprod);
}

void check_shapes() {
  expect_function("transpose", [](Settings& s) {
    const auto order = s.rest();
    return [order](const Tensors& in) { return Tensors{ops::transpose(in[0], order)}; };
  });
  expect_function("concat", [](Settings& s) {
    const int axis = s.axis();
    return [axis](const Tensors& in) { return Tensors{ops::concat({in[0], in[1]}, axis)}; };
  });
  expect_function("stack", [](Settings& s) {
    const int axis = s.axis();
    return [axis](const Tensors& in) { return Tensors{ops::stack({in[0], in[1]}, axis)}; };
  });
  expect_function("split", [](Settings& s) {
    const int axis = s.axis();
    const std::int64_t first = s.next();
    return [=](const Tensors& in) {
      return ops::split(in[0], {first, in[0].dim(axis) - first}, axis);
    };
  });
  expect_function("slice", [](Settings& s) {
    const int axis = s.axis();
    const std::int64_t begin = s.next();
    const std::int64_t end = s.next();
    const std::int64_t step = s.next();
    return [=](const Tensors& in) { return Tensors{ops::slice(in[0], axis, begin, end, step)}; };
  });
  expect_function("tile", [](Settings& s) {
    const auto counts = s.rest();
    return [counts](const Tensors& in) { return Tensors{ops::tile(in[0], counts)}; };
  });
  expect_function("tril", [](Settings& s) {
    const std::int64_t diagonal = s.next();
    return [diagonal](const Tensors& in) { return Tensors{math::tril(in[0], diagonal)}; };
  });
  expect_function("triu", [](Settings& s) {
    const std::int64_t diagonal = s.next();
    return [diagonal](const Tensors& in) { return Tensors{math::triu(in[0], diagonal)}; };
  });
}

void check_pictures() {
  expect_function("pad", [](Settings& s) {
    const auto mode = static_cast<nn::PadMode>(s.next());
    const auto sides = s.rest();  // left, right, top, bottom
    return [=](const Tensors& in) {
      return Tensors{nn::pad(in[0], {0, 0, sides[2], sides[0]}, {0, 0, sides[3], sides[1]}, mode)};
    };
  });
  expect_function("bilinear", [](Settings& s) {
    const nn::Pair size = s.pair();
    const bool align = s.flag();
    return [=](const Tensors& in) {
      return Tensors{nn::resize_bilinear2d(in[0], size.down, size.across, align)};
    };
  });
  expect_function("linear", [](Settings& s) {
    const std::int64_t length = s.next();
    const bool align = s.flag();
    return [=](const Tensors& in) { return Tensors{nn::resize_linear1d(in[0], length, align)}; };
  });
  expect_function("global_avg1", [](Settings&) { return nn::GlobalAvgPool1D(); });
  expect_function("global_avg2", [](Settings&) { return nn::GlobalAvgPool2D(); });
  expect_function("global_avg3", [](Settings&) { return nn::GlobalAvgPool3D(); });
  expect_function("global_max1", [](Settings&) { return nn::GlobalMaxPool1D(); });
  expect_function("global_max2", [](Settings&) { return nn::GlobalMaxPool2D(); });
  expect_function("global_max3", [](Settings&) { return nn::GlobalMaxPool3D(); });
}

void check_indices() {
  using math::Range;
  expect_function("gather", [](Settings& s) {
    const int axis = s.axis();
    return [axis](const Tensors& in) { return Tensors{ops::gather(in[0], in[1], axis)}; };
  });
  expect_function("take_along", [](Settings& s) {
    const int axis = s.axis();
    return [axis](const Tensors& in) { return Tensors{math::take_along(in[0], in[1], axis)}; };
  });
  expect_function("index_slices", [](Settings& s) {
    const std::int64_t step = s.next();
    const std::int64_t at = s.next();
    return [=](const Tensors& in) {
      return Tensors{math::index(in[0], {Range{.step = step}, at})};
    };
  });
  expect_function("index_tensors", [](Settings&) {
    return [](const Tensors& in) { return Tensors{math::index(in[0], {in[1], Range{}, in[2]})}; };
  });
  expect_function("gather_nd", [](Settings&) {
    return [](const Tensors& in) { return Tensors{math::gather_nd(in[0], in[1])}; };
  });
  expect_function("scatter_nd", [](Settings& s) {
    const auto extents = s.rest();
    return [extents](const Tensors& in) {
      return Tensors{math::scatter_nd(in[0], in[1], Shape{std::span<const std::int64_t>(extents)})};
    };
  });
  expect_function("embedding", [](Settings&) {
    return [](const Tensors& in) { return Tensors{ops::embedding(in[0], in[1])}; };
  });
}

void check_products() {
  constexpr std::array kEquations = {"ij,jk->ik", "bij,bjk->bik", "bij,bkj->bik",    "i,j->ij",
                                     "ij->ji",    "ij->i",        "bhqd,bhkd->bhqk", "ab,bc,cd->ad",
                                     "abc,cb->a", "i,i->"};
  expect_function("einsum", [&](Settings& s) {
    const char* equation = kEquations.at(static_cast<std::size_t>(s.next()));
    return [equation](const Tensors& in) { return Tensors{math::einsum(equation, in)}; };
  });
  expect_function("matmul", [](Settings& s) {
    const bool of_a = s.flag();
    const bool of_b = s.flag();
    return [=](const Tensors& in) {
      return Tensors{ops::matmul(in[0], in[1], {.transpose_a = of_a, .transpose_b = of_b})};
    };
  });
}

}  // namespace

std::vector<RandomFamily> random_tensors() {
  return {{"Reductions", check_reductions}, {"Orders", check_orders},
          {"Shapes", check_shapes},         {"Pictures", check_pictures},
          {"Indices", check_indices},       {"Products", check_products}};
}

}  // namespace plimsoll::test

#include <plimsoll/nn/losses.h>
#include <plimsoll/ops/softmax.h>

#include "support/random_cases.h"
#include "support/random_functions.h"

namespace plimsoll::test {
namespace {

using nn::Tensors;
using Settings = RandomSettings;

/// Losses of two tensors, by name.
struct Compared {
  const char* name;
  Tensor (*loss)(const Tensor& a, const Tensor& b);
};
void expect_compared(std::initializer_list<Compared> all) {
  for (const Compared& each : all) {
    expect_function(each.name, [&](Settings&) {
      return [&](const Tensors& in) { return Tensors{each.loss(in[0], in[1])}; };
    });
  }
}

void check_numbers() {
  using T = Tensor;
  expect_compared({
      {"mean_squared_error", nn::mean_squared_error},
      {"mean_absolute_error", nn::mean_absolute_error},
      {"huber", [](const T& a, const T& b) { return nn::huber(a, b, 0.7); }},
      {"smooth_l1", [](const T& a, const T& b) { return nn::smooth_l1(a, b, 0.7); }},
      {"log_cosh", [](const T& a, const T& b) { return nn::log_cosh(a, b); }},
      {"poisson", [](const T& a, const T& b) { return nn::poisson(a, b); }},
      {"hinge", [](const T& a, const T& b) { return nn::hinge(a, b); }},
      {"squared_hinge", [](const T& a, const T& b) { return nn::squared_hinge(a, b); }},
      {"binary_cross_entropy", nn::binary_cross_entropy},
      {"binary_focal", [](const T& a, const T& b) { return nn::binary_focal(a, b); }},
  });
}

void check_classes() {
  using T = Tensor;
  expect_compared({
      {"focal", [](const T& a, const T& b) { return nn::focal(a, b); }},
      {"cross_entropy_dense", [](const T& a, const T& b) { return nn::cross_entropy_dense(a, b); }},
      {"kl_divergence", [](const T& a, const T& b) { return nn::kl_divergence(a, b); }},
  });
  expect_function("cross_entropy", [](Settings& s) {
    const double smoothing = static_cast<double>(s.next()) / 100;
    return [=](const Tensors& in) {
      return Tensors{nn::cross_entropy(in[0], in[1], {.smoothing = smoothing})};
    };
  });
  expect_function("class_weights", [](Settings& s) {
    const double smoothing = static_cast<double>(s.next()) / 100;
    return [=](const Tensors& in) {
      return Tensors{
          nn::cross_entropy(in[0], in[1], {.smoothing = smoothing, .class_weights = in[2]})};
    };
  });
  expect_function("linear_cross_entropy", [](Settings&) {
    return
        [](const Tensors& in) { return Tensors{ops::linear_cross_entropy(in[0], in[1], in[2])}; };
  });
}

void check_vectors() {
  expect_compared({{"cosine_similarity",
                    [](const Tensor& a, const Tensor& b) { return nn::cosine_similarity(a, b); }}});
  struct OfThree {
    const char* name;
    Tensor (*loss)(const Tensor& a, const Tensor& b, const Tensor& c);
  };
  using T = Tensor;
  for (const OfThree& each :
       {OfThree{"cosine_embedding", [](const T&a, const T&b,
                                       const T&c) { return nn::cosine_embedding(a, b, c, -0.5); }},
        OfThree{"contrastive",
                [](const T&a, const T&b, const T&c) { return nn::contrastive(a, b, c, 4); }},
        OfThree{"triplet",
                [](const T&a, const T&b, const T&c) { return nn::triplet(a, b, c, 2); }}}) {
    expect_function(each.name, [&](Settings&) {
      return [&](const Tensors& in) { return Tensors{each.loss(in[0], in[1], in[2])}; };
    });
  }
}

}  // namespace

std::vector<RandomFamily> random_losses() {
  return {{"LossesOfNumbers", check_numbers},
          {"LossesOfClasses", check_classes},
          {"LossesOfVectors", check_vectors}};
}

}  // namespace plimsoll::test

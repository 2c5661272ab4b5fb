// Activations beyond those of ops/, as functions and as layers.
#include <plimsoll/nn/activations.h>

#include <plimsoll/nn/drop_path.h>

#include "bind_parts.h"
#include "given.h"

namespace plimsoll::python {
namespace {

template <Tensor (*op)(const Tensor&)>
void function(nb::module_& nn, const char* name, const char* doc) {
  define(nn, name, "x: Tensor | Variable", "Tensor", doc, [](const Given& given) {
    const Tensor x = given.tensor("x");
    return computed([&] { return op(x); });
  });
}

template <typename Layer>
void layer(nb::module_& m, const char* name, const char* doc) {
  nb::class_<Layer, nn::Module>(m, name, doc).def(nb::init<>());
}

template <typename Layer>
void layer_with_alpha(nb::module_& m, const char* name, const char* doc) {
  define_class<Layer, nn::Module>(
      m, name, "alpha: float = 1.0", doc,
      [](Layer* self, const Given& given) { new (self) Layer(given.number("alpha")); });
}

nn::Gate as_gate(const Given& given) {
  return static_cast<nn::Gate>(given.choice("gate", {"sigmoid", "silu", "gelu", "relu", "linear"}));
}

}  // namespace

void bind_activations(nb::module_& m, nb::module_& nn) {
  function<nn::selu>(nn, "selu", "1.0507 x where x > 0, else 1.0507 * 1.6733 (exp(x) - 1).");
  function<nn::mish>(nn, "mish", "x tanh(softplus(x))");
  function<nn::hard_sigmoid>(nn, "hard_sigmoid", "x / 6 + 1 / 2, within [0, 1].");
  function<nn::hard_swish>(nn, "hard_swish", "x hard_sigmoid(x)");
  function<nn::hard_tanh>(nn, "hard_tanh", "x within [-1, 1].");
  function<nn::relu6>(nn, "relu6", "relu(x), but at most 6.");
  function<nn::log_sigmoid>(nn, "log_sigmoid", "log(sigmoid(x)), without overflow.");
  function<nn::softsign>(nn, "softsign", "x / (1 + |x|)");
  define(nn, "celu", "x: Tensor | Variable, alpha: float = 1.0", "Tensor",
         "x where x > 0, else alpha (exp(x / alpha) - 1).", [](const Given& given) {
           const Tensor x = given.tensor("x");
           const double alpha = given.number("alpha");
           return computed([&] { return nn::celu(x, alpha); });
         });
  define(nn, "prelu", "x: Tensor | Variable, slope: Tensor | Variable", "Tensor",
         "x where x > 0, else slope x; one slope, or one for each channel.",
         [](const Given& given) {
           const Tensor x = given.tensor("x");
           const Tensor slope = given.tensor("slope");
           return computed([&] { return nn::prelu(x, slope); });
         });
  define(nn, "glu", "x: Tensor | Variable, axis: int = -1, *, gate: str = 'sigmoid'", "Tensor",
         "The halves a and b of x along `axis`, as a * gate(b); gates are \"sigmoid\", \"silu\", "
         "\"gelu\", \"relu\" and \"linear\".\n\n>>> pm.nn.glu(pm.ones((2, 8)), gate=\"silu\")",
         [](const Given& given) {
           const Tensor x = given.tensor("x");
           const int axis = static_cast<int>(given.integer("axis"));
           const nn::Gate gate = as_gate(given);
           return computed([&] { return nn::glu(x, axis, gate); });
         });
  define(nn, "gated", "g: Tensor | Variable, x: Tensor | Variable, *, gate: str = 'sigmoid'",
         "Tensor", "gate(g) * x, which have one shape.", [](const Given& given) {
           const Tensor g = given.tensor("g");
           const Tensor x = given.tensor("x");
           const nn::Gate gate = as_gate(given);
           return computed([&] { return nn::gated(g, x, gate); });
         });
  define(nn, "drop_path", "x: Tensor | Variable, rate: float", "Tensor",
         "Whole elements of a batch become 0 with probability `rate`: stochastic depth.",
         [](const Given& given) {
           const Tensor x = given.tensor("x");
           const double rate = given.number("rate");
           return computed([&] { return nn::drop_path(x, rate); });
         });

  layer<nn::SELU>(m, "SELU", "selu(x)");
  layer<nn::Softplus>(m, "Softplus", "log(1 + exp(x))");
  layer<nn::Mish>(m, "Mish", "x tanh(softplus(x))");
  layer<nn::HardSigmoid>(m, "HardSigmoid", "x / 6 + 1 / 2, within [0, 1].");
  layer<nn::HardSwish>(m, "HardSwish", "x hard_sigmoid(x)");
  layer<nn::HardTanh>(m, "HardTanh", "x within [-1, 1].");
  layer<nn::ReLU6>(m, "ReLU6", "relu(x), but at most 6.");
  layer<nn::LogSigmoid>(m, "LogSigmoid", "log(sigmoid(x))");
  layer<nn::Softsign>(m, "Softsign", "x / (1 + |x|)");
  layer_with_alpha<nn::ELU>(m, "ELU", "x where x > 0, else alpha (exp(x) - 1).");
  layer_with_alpha<nn::CELU>(m, "CELU", "x where x > 0, else alpha (exp(x / alpha) - 1).");
  define_class<nn::LeakyReLU, nn::Module>(m, "LeakyReLU", "slope: float = 0.01",
                                          "x where x > 0, else slope x.",
                                          [](nn::LeakyReLU* self, const Given& given) {
                                            new (self) nn::LeakyReLU(given.number("slope"));
                                          });
  define_class<nn::PReLU, nn::Module>(
      m, "PReLU", "channels: int = 1, slope: float = 0.25",
      "x where x > 0, else slope x, with a slope that is learned: one, or one for each channel.",
      [](nn::PReLU* self, const Given& given) {
        new (self) nn::PReLU(given.integer("channels"), given.number("slope"));
      });
  define_class<nn::GLU, nn::Module>(m, "GLU", "axis: int = -1, *, gate: str = 'sigmoid'",
                                    "The halves a and b of x along `axis`, as a * gate(b).",
                                    [](nn::GLU* self, const Given& given) {
                                      new (self) nn::GLU(static_cast<int>(given.integer("axis")),
                                                         as_gate(given));
                                    });
  define_class<nn::DropPath, nn::Module>(
      m, "DropPath", "rate: float",
      "In training, whole elements of a batch become 0 with probability `rate`.",
      [](nn::DropPath* self, const Given& given) {
        new (self) nn::DropPath(given.number("rate"));
      });
}

}  // namespace plimsoll::python

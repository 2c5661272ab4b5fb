// Recurrent layers.
#include <plimsoll/nn/recurrent.h>

#include <nanobind/stl/tuple.h>

#include "bind_parts.h"
#include "given.h"
#include "nn_module.h"

namespace plimsoll::python {
namespace {

constexpr const char* kOptions =
    "hidden: int, *, in_features: int = 0, layers: int = 1, bidirectional: bool = False, bias: "
    "bool = True, dropout: float = 0.0";

nn::RecurrentOptions options(const Given& given) {
  return {given.integer("in_features"), given.integer("layers"), given.flag("bidirectional"),
          given.flag("bias"), given.number("dropout")};
}

template <typename Layer>
void recurrent(nb::module_& m, const char* name, const char* doc) {
  define_class<Layer, nn::Recurrent>(m, name, kOptions, doc, [](Layer* self, const Given& given) {
    new (self) Layer(given.integer("hidden"), options(given));
  });
}

Tensor given_or_none(nb::handle value, const char* name) {
  return as_optional_tensor(value, {"run", name});
}

}  // namespace

void bind_recurrent(nb::module_& m) {
  nb::class_<nn::Recurrent, nn::Module>(
      m, "Recurrent",
      "What LSTM, GRU and SimpleRNN have in common: layer(x) gives y, and layer(x, lengths) gives "
      "y and the last states.")
      .def(
          "run",
          [](const nn::Recurrent& self, nb::handle x, nb::handle lengths, nb::handle h,
             nb::handle c) {
            const Tensor given = as_tensor(x, {"run", "x"});
            const Tensor counts = given_or_none(lengths, "lengths");
            const nn::RecurrentState first{given_or_none(h, "h"), given_or_none(c, "c")};
            nn::RecurrentResult result;
            {
              const Unlocked unlocked;
              result = self.run(given, counts, first);
            }
            const nb::object cell =
                result.state.c.defined() ? nb::cast(result.state.c) : nb::object(nb::none());
            return nb::make_tuple(result.y, result.state.h, cell);
          },
          nb::arg("x"), nb::arg("lengths").none() = nb::none(), nb::arg("h").none() = nb::none(),
          nb::arg("c").none() = nb::none(),
          nb::sig("def run(self, x: Tensor | Variable, lengths: Tensor | Variable | None = None, "
                  "h: Tensor | Variable | None = None, c: Tensor | Variable | None = None) -> "
                  "tuple[Tensor, Tensor, Tensor | None]"),
          "All of it: y [n, steps, hidden], and the last states h and c. You can also pass them "
          "in. "
          "c "
          "is None but for an LSTM.");
  recurrent<nn::LSTM>(m, "LSTM",
                      "Hochreiter and Schmidhuber 1997, over x [n, steps, features], as one op "
                      "over all steps.\n\n>>> pm.nn.LSTM(64, layers=2, dropout=0.1)");
  recurrent<nn::GRU>(m, "GRU", "Cho et al. 2014, as PyTorch has it.");
  define_class<nn::SimpleRNN, nn::Recurrent>(
      m, "SimpleRNN",
      "hidden: int, *, in_features: int = 0, layers: int = 1, bidirectional: bool = False, bias: "
      "bool = True, dropout: float = 0.0, activation: str = 'tanh'",
      "Elman 1990: \"tanh\", or \"relu\", of both products.",
      [](nn::SimpleRNN* self, const Given& given) {
        new (self) nn::SimpleRNN(
            given.integer("hidden"), options(given),
            static_cast<nn::SimpleRNN::Activation>(given.choice("activation", {"tanh", "relu"})));
      });
}

}  // namespace plimsoll::python

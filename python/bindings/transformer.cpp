// Attention and transformer blocks.
#include <nanobind/stl/string.h>

#include <plimsoll/nn/attention.h>

#include "bind.h"
#include "nn_module.h"

namespace plimsoll::python {
namespace {

template <typename Layer>
void layer(nb::module_& m, const char* name, const char* doc) {
  nb::class_<Layer, nn::Module>(m, name, doc)
      .def(
          "__init__",
          [name](Layer* self, nb::handle features, nb::handle heads, nb::handle hidden, bool causal,
                 nb::handle dropout, nb::handle epsilon, bool approximate) {
            nn::TransformerOptions options;
            options.features = as_int(features, {name, "features"});
            options.heads = as_int(heads, {name, "heads"});
            options.hidden = as_int(hidden, {name, "hidden"});
            options.causal = causal;
            options.dropout = as_double(dropout, {name, "dropout"});
            options.epsilon = as_double(epsilon, {name, "epsilon"});
            options.gelu = approximate ? ops::Gelu::tanh : ops::Gelu::exact;
            new (self) Layer(options);
          },
          nb::arg("features"), nb::arg("heads") = 1, nb::kw_only(), nb::arg("hidden") = 0,
          nb::arg("causal") = false, nb::arg("dropout") = 0.0, nb::arg("epsilon") = 1e-5,
          nb::arg("approximate") = false,
          nb::sig(
              "def __init__(self, features: int, heads: int = 1, *, hidden: int = 0, causal: bool "
              "= False, dropout: float = 0.0, epsilon: float = 1e-05, approximate: bool = False) "
              "-> None"));
}

}  // namespace

void bind_transformer(nb::module_& m) {
  layer<nn::SelfAttention>(m, "SelfAttention", "Self-attention over x [n, tokens, features].");
  layer<nn::FeedForward>(m, "FeedForward", "Two dense layers with gelu between them.");
  layer<nn::TransformerBlock>(m, "TransformerBlock",
                              "x + attention(norm(x)), then the same with the feed-forward part.");
}

}  // namespace plimsoll::python

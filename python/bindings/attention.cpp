// Attention with masks, the layers that use it, and rotary positions.
#include <nanobind/stl/tuple.h>

#include <plimsoll/nn/multi_head_attention.h>
#include <plimsoll/nn/rope.h>
#include <plimsoll/nn/transformer.h>

#include "bind_parts.h"
#include "given.h"
#include "nn_module.h"

namespace plimsoll::python {
namespace {

constexpr const char* kLayer =
    "features: int, heads: int, *, hidden: int = 2048, dropout: float = 0.1, activation: str = "
    "'relu', norm_first: bool = False, epsilon: float = 1e-05";

nn::TransformerLayerOptions layer(const Given& given) {
  nn::TransformerLayerOptions options;
  options.features = given.integer("features");
  options.heads = given.integer("heads");
  options.hidden = given.integer("hidden");
  options.dropout = given.number("dropout");
  options.activation = static_cast<nn::TransformerLayerOptions::Activation>(
      given.choice("activation", {"relu", "gelu"}));
  options.norm_first = given.flag("norm_first");
  options.epsilon = given.number("epsilon");
  return options;
}

template <typename Layer>
void transformer_layer(nb::module_& m, const char* name, const char* doc) {
  define_class<Layer, nn::Module>(m, name, kLayer, doc, [](Layer* self, const Given& given) {
    new (self) Layer(layer(given));
  });
}

nn::AttentionOptions attention(const Given& given) {
  return {given.flag("causal"), given.number("scale"), given.optional_tensor("key_mask"),
          given.optional_tensor("bias"), given.integer("window")};
}

#define PLIMSOLL_ATTENTION                                                           \
  "*, causal: bool = False, scale: float = 0.0, key_mask: Tensor | Variable | None " \
  "= None, bias: Tensor | Variable | None = None, window: int = 0"

void bind_functions(nb::module_& nn) {
  define(
      nn, "attention",
      "q: Tensor | Variable, k: Tensor | Variable, v: Tensor | Variable, " PLIMSOLL_ATTENTION,
      "Tensor",
      "softmax(q k^T scale + bias) v over q [n, heads, queries, size], k and v [n, key heads, "
      "keys, size]. `key_mask` (bool [n, keys]) says which keys count; `bias` is added to the "
      "scores, all of which are then stored. With a `window` a query sees only keys that are fewer "
      "than `window` places away (0: all).",
      [](const Given& given) {
        const Tensor q = given.tensor("q");
        const Tensor k = given.tensor("k");
        const Tensor v = given.tensor("v");
        const nn::AttentionOptions options = attention(given);
        return computed([&] { return nn::attention(q, k, v, options); });
      });
  define(nn, "split_heads", "x: Tensor | Variable, heads: int", "Tensor",
         "[n, tokens, heads * size] as [n, heads, tokens, size].", [](const Given& given) {
           const Tensor x = given.tensor("x");
           const std::int64_t heads = given.integer("heads");
           return computed([&] { return nn::split_heads(x, heads); });
         });
  define(nn, "merge_heads", "x: Tensor | Variable", "Tensor",
         "[n, heads, tokens, size] as [n, tokens, heads * size].", [](const Given& given) {
           const Tensor x = given.tensor("x");
           return computed([&] { return nn::merge_heads(x); });
         });
  define(nn, "rope_tables",
         "like: Tensor | Variable, tokens: int, size: int, *, theta: float = 10000.0, first: int = "
         "0",
         "tuple[Tensor, Tensor]",
         "Cosines and sines for rope(), [tokens, size / 2] each, where `like` is.",
         [](const Given& given) {
           const Tensor like = given.tensor("like");
           const std::int64_t tokens = given.integer("tokens");
           const std::int64_t size = given.integer("size");
           const double theta = given.number("theta");
           const std::int64_t first = given.integer("first");
           return computed([&] {
             const nn::RopeTables tables = nn::rope_tables(like, tokens, size, theta, first);
             return std::tuple(tables.cos, tables.sin);
           });
         });
  define(
      nn, "rope",
      "x: Tensor | Variable, cos: Tensor | Variable, sin: Tensor | Variable, *, style: str = "
      "'halves', size: int = 0, heads: int = 0",
      "Tensor",
      "Rotary position embedding of x [..., tokens, size]; pairs are \"halves\" (i and i + size/2) "
      "or \"interleaved\" (2i and 2i + 1). Rows may be several heads of `size` elements, of which "
      "the first `heads` are turned (0: all).\n\n"
      ">>> pm.nn.rope(x, *pm.nn.rope_tables(x, tokens=16, size=32))",
      [](const Given& given) {
        const Tensor x = given.tensor("x");
        const nn::RopeTables tables{given.tensor("cos"), given.tensor("sin")};
        const auto style =
            static_cast<nn::RopeStyle>(given.choice("style", {"halves", "interleaved"}));
        const std::int64_t size = given.integer("size");
        const std::int64_t heads = given.integer("heads");
        return computed([&] {
          if (size == 0 && heads == 0) return nn::rope(x, tables, style);
          return nn::rope(x, tables, {.style = style, .size = size, .heads = heads});
        });
      });
}

}  // namespace

void bind_attention(nb::module_& m, nb::module_& nn) {
  bind_functions(nn);
  define_class<nn::MultiHeadAttention, nn::Module>(
      m, "MultiHeadAttention",
      "features: int, heads: int, *, key_features: int = 0, value_features: int = 0, bias: bool = "
      "True",
      "Vaswani et al. 2017. attention(x) is self-attention, attention(query, memory) takes keys "
      "and "
      "values from `memory`, and attention(query, key, value) each from its own; all are [n, "
      "tokens, features]. Masks are arguments of attend().\n\n>>> attention = "
      "pm.nn.MultiHeadAttention(256, 8)\n"
      ">>> attention.attend(x, x, x, causal=True)",
      [](nn::MultiHeadAttention* self, const Given& given) {
        new (self) nn::MultiHeadAttention({given.integer("features"), given.integer("heads"),
                                           given.integer("key_features"),
                                           given.integer("value_features"), given.flag("bias")});
      })
      .def(
          "attend",
          [](const nn::MultiHeadAttention& self, nb::handle query, nb::handle key, nb::handle value,
             bool causal, nb::handle key_mask, nb::handle bias, std::int64_t window) {
            const Tensor q = as_tensor(query, {"attend", "query"});
            const Tensor k = as_tensor(key, {"attend", "key"});
            const Tensor v = as_tensor(value, {"attend", "value"});
            const nn::AttentionOptions options{
                causal, 0, as_optional_tensor(key_mask, {"attend", "key_mask"}),
                as_optional_tensor(bias, {"attend", "bias"}), window};
            const Unlocked unlocked;
            return self.attend(q, k, v, options);
          },
          nb::arg("query"), nb::arg("key"), nb::arg("value"), nb::kw_only(),
          nb::arg("causal") = false, nb::arg("key_mask").none() = nb::none(),
          nb::arg("bias").none() = nb::none(), nb::arg("window") = 0,
          nb::sig("def attend(self, query: Tensor | Variable, key: Tensor | Variable, value: "
                  "Tensor | Variable, *, causal: bool = False, key_mask: Tensor | Variable | None "
                  "= None, bias: Tensor | Variable | None = None, window: int = 0) -> Tensor"),
          "With a mask of the keys that count (bool [n, keys]), a bias of the scores, or a window "
          "of keys that each query sees: those fewer than `window` places away.");
  transformer_layer<nn::TransformerEncoderLayer>(
      m, "TransformerEncoderLayer",
      "Attention among tokens, then two dense layers; layer(x, mask) leaves out tokens for which "
      "the bool mask [n, tokens] is false.");
  transformer_layer<nn::TransformerDecoderLayer>(
      m, "TransformerDecoderLayer",
      "Causal attention among tokens, attention to `memory`, then two dense layers: layer(x, "
      "memory), or layer(x, memory, mask).");
  define_class<nn::GatedFeedForward, nn::Module>(
      m, "GatedFeedForward",
      "features: int, hidden: int, *, gate: str = 'silu', deviation: float = 0.02",
      "down(gate(gate_proj(x)) * up(x)), llama's SwiGLU.",
      [](nn::GatedFeedForward* self, const Given& given) {
        const auto gate = static_cast<nn::Gate>(
            given.choice("gate", {"sigmoid", "silu", "gelu", "relu", "linear"}));
        new (self) nn::GatedFeedForward(given.integer("features"), given.integer("hidden"), gate,
                                        given.number("deviation"));
      });
}

}  // namespace plimsoll::python

#include <plimsoll/ops/slow_path.h>

#include <fmt/format.h>

#include "ops/attention_shape.h"
#include "ops/convolution_route.h"

namespace plimsoll::ops {
namespace {

// As measured on an H200.
constexpr double kPlainConvolution = 0.3;
constexpr double kPlainAttention = 1.1;

bool is_narrow(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

std::string attention_remedy(const AttentionShape& s, DType dtype) {
  if (!is_narrow(dtype)) return "train in bf16";
  if (s.size != s.value_size) return "give keys and values one size";
  if (s.size % 8 != 0 || s.size > 128) return "use heads of 8 to 128 elements in steps of 8";
  if (s.causal && s.queries != s.keys) return "use as many queries as keys, or no causal mask";
  if (s.scale <= 0) return "use a scale above zero";
  if (s.size < 64 && std::max(s.queries, s.keys) <= kShortTokens) return "use heads of 64 elements";
  return "use at least 16 queries and keys";
}

std::optional<SlowPath> slow_attention(const AttentionShape& s, DType dtype) {
  if (fused_attention(s, dtype) || short_attention(s, dtype)) return std::nullopt;
  return SlowPath{
      .reason = is_narrow(dtype)
                    ? fmt::format("plain kernels: no others take heads of {} with {} queries and "
                                  "{} keys{}",
                                  s.size, s.queries, s.keys, s.causal ? ", causal" : "")
                    : fmt::format("plain kernels: there are no others in {}", dtype_name(dtype)),
      .remedy = attention_remedy(s, dtype),
      .flops_per_byte = kPlainAttention};
}

}  // namespace

std::optional<SlowPath> slow_path(const OpInputs& inputs, std::span<const TensorType>) {
  const OpDef& op = inputs.def();
  if (op.family == "convolution" && inputs.dtype(0) == DType::f64) {
    return SlowPath{.reason = "plain kernels: no library computes convolutions in f64",
                    .remedy = "use f32 or bf16",
                    .flops_per_byte = kPlainConvolution};
  }
  if (op.name == "attention" || op.name == "attention_grad") {
    return slow_attention(attention_shape(inputs), inputs.dtype(0));
  }
  if (op.name == "self_attention" || op.name == "self_attention_grad") {
    return slow_attention(self_attention_shape(inputs), inputs.dtype(0));
  }
  return std::nullopt;
}

}  // namespace plimsoll::ops

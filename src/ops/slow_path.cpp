#include <plimsoll/ops/slow_path.h>

#include <fmt/format.h>

#include <plimsoll/ops/attention_route.h>
#include <plimsoll/ops/convolution_route.h>
#include <plimsoll/ops/gpu_work.h>

namespace plimsoll::ops {
namespace {

// As measured on an H200.
constexpr double kPlainConvolution = 0.3;
constexpr double kPlainAttention = 1.1;

std::optional<SlowPath> slow_attention(const AttentionWork& work, const OpInputs& in) {
  const AttentionShape& s = work.shape;
  const bool grad = work.gradient;
  // With a gradient by the logarithms of sums, too.
  const bool more = grad && in.count() > in.def().inputs + (s.mask_batches > 0 ? 1 : 0);
  const DType dtype = in.dtype(0);
  if (attention_route(s, dtype, grad, more) != AttentionRoute::plain) return std::nullopt;
  return SlowPath{.reason = fmt::format(
                      "plain kernels: no others take {} heads of {} with {} queries and {} "
                      "keys{}{}",
                      dtype_name(dtype), s.size, s.queries, s.keys, s.causal ? ", causal" : "",
                      s.mask_batches > 0 ? ", with a mask of keys" : ""),
                  .remedy = attention_remedy(s, dtype, more),
                  .flops_per_byte = kPlainAttention};
}

}  // namespace

std::optional<SlowPath> slow_path(const OpInputs& inputs, std::span<const TensorType> outputs) {
  const OpDef& op = inputs.def();
  if (op.family == "convolution" && inputs.dtype(0) == DType::f64) {
    return SlowPath{.reason = "plain kernels: no library computes convolutions in f64",
                    .remedy = "use f32 or bf16",
                    .flops_per_byte = kPlainConvolution};
  }
  if (op.gpu_work == nullptr) return std::nullopt;
  const GpuWork work = op.gpu_work(inputs, outputs);
  if (const auto* attention = std::get_if<AttentionWork>(&work.what)) {
    return slow_attention(*attention, inputs);
  }
  return std::nullopt;
}

}  // namespace plimsoll::ops

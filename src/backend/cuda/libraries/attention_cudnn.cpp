#include "backend/cuda/kernels/attention.h"

#if PLIMSOLL_HAS_CUDNN

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <unordered_map>

#include <plimsoll/base/error.h>

#include "backend/cuda/driver/nvtx.h"
#include "backend/cuda/libraries/cudnn_graph.h"
#include "backend/cuda/libraries/libraries.h"

namespace plimsoll::cuda {
namespace {

using ops::AttentionLayout;
using ops::AttentionShape;

enum Uid : std::int64_t {
  kQ = 1,
  kK,
  kV,
  kY,
  kLogSums,
  kDy,
  kDq,
  kDk,
  kDv,
  kQueryLengths,
  kKeyLengths
};

struct SdpaPlan final : Libraries::Plan {
  fe::graph::Graph graph;
};

class Builder {
 public:
  Builder(const FusedAttention& fused, SdpaPlan& plan)
      : s_(fused.shape),
        dtype_(cudnn_type(fused.dtype)),
        masked_(fused.masked),
        batches_(fused.batches),
        graph_(plan.graph) {
    graph_.set_io_data_type(dtype_)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
  }

  void forward() {
    auto options = fe::graph::SDPA_attributes()
                       .set_name("attention")
                       .set_generate_stats(true)
                       .set_attn_scale(static_cast<float>(s_.scale));
    if (s_.causal) options.set_causal_mask(true);
    auto [y, log_sums] =
        graph_.sdpa(input(kQ, queries(s_.size), s_.q), input(kK, keys(s_.size), s_.k),
                    input(kV, keys(s_.value_size), s_.v), options);
    output(*y, kY, queries(s_.value_size), s_.y);
    log_sums->set_output(true)
        .set_uid(kLogSums)
        .set_data_type(fe::DataType_t::FLOAT)
        .set_dim({batches_, s_.heads, s_.queries, 1})
        .set_stride({s_.heads * s_.queries, s_.queries, 1, 1});
  }

  void backward() {
    auto options = fe::graph::SDPA_backward_attributes()
                       .set_name("attention_grad")
                       .set_deterministic_algorithm(true)
                       .set_attn_scale(static_cast<float>(s_.scale));
    if (s_.causal) options.set_causal_mask(true);
    if (masked_) {
      options.set_padding_mask(true)
          .set_seq_len_q(lengths(kQueryLengths))
          .set_seq_len_kv(lengths(kKeyLengths));
    }
    auto log_sums = graph_.tensor(fe::graph::Tensor_attributes()
                                      .set_name("log_sums")
                                      .set_uid(kLogSums)
                                      .set_data_type(fe::DataType_t::FLOAT)
                                      .set_dim({batches_, s_.heads, s_.queries, 1})
                                      .set_stride({s_.heads * s_.queries, s_.queries, 1, 1}));
    auto [dq, dk, dv] = graph_.sdpa_backward(
        input(kQ, queries(s_.size), s_.q), input(kK, keys(s_.size), s_.k),
        input(kV, keys(s_.value_size), s_.v), input(kY, queries(s_.value_size), s_.y),
        input(kDy, queries(s_.value_size), s_.y), log_sums, options);
    output(*dq, kDq, queries(s_.size), s_.q);
    output(*dk, kDk, keys(s_.size), s_.k);
    output(*dv, kDv, keys(s_.value_size), s_.v);
  }

 private:
  /// Extents of tensors with rows of `size` for each query, or for each key.
  std::vector<std::int64_t> queries(std::int64_t size) const {
    return {batches_, s_.heads, s_.queries, size};
  }
  std::vector<std::int64_t> keys(std::int64_t size) const {
    return {batches_, s_.key_heads(), s_.keys, size};
  }
  static std::vector<std::int64_t> strides(const AttentionLayout& at) {
    return {at.batch, at.head, at.row, 1};
  }
  std::shared_ptr<fe::graph::Tensor_attributes> input(Uid uid,
                                                      const std::vector<std::int64_t>& extents,
                                                      const AttentionLayout& at) {
    return graph_.tensor(fe::graph::Tensor_attributes()
                             .set_name(fmt::format("input{}", static_cast<int>(uid)))
                             .set_uid(uid)
                             .set_data_type(dtype_)
                             .set_dim(extents)
                             .set_stride(strides(at)));
  }
  std::shared_ptr<fe::graph::Tensor_attributes> lengths(Uid uid) {
    return graph_.tensor(fe::graph::Tensor_attributes()
                             .set_name(fmt::format("lengths{}", static_cast<int>(uid)))
                             .set_uid(uid)
                             .set_data_type(fe::DataType_t::INT32)
                             .set_dim({batches_, 1, 1, 1})
                             .set_stride({1, 1, 1, 1}));
  }
  void output(fe::graph::Tensor_attributes& tensor, Uid uid,
              const std::vector<std::int64_t>& extents, const AttentionLayout& at) const {
    tensor.set_output(true).set_uid(uid).set_data_type(dtype_).set_dim(extents).set_stride(
        strides(at));
  }

  const AttentionShape& s_;
  fe::DataType_t dtype_;
  bool masked_;
  std::int64_t batches_;
  fe::graph::Graph& graph_;
};

std::shared_ptr<const Libraries::Plan> make_plan(const FusedAttention& fused, Libraries& libraries,
                                                 cudnnHandle_t handle, Bytes limit) {
  std::shared_ptr<SdpaPlan> plan;
  const auto built = choose_graph(libraries.choices(), fused.key, [&](const std::string& only) {
    plan = std::make_shared<SdpaPlan>();
    Builder builder(fused, *plan);
    fused.grad ? builder.backward() : builder.forward();
    return build_graph(plan->graph, {.handle = handle}, limit, {}, only);
  });
  if (!built) return nullptr;
  plan->workspace = built->workspace;
  return plan;
}

std::string key_of(const FusedAttention& f, Bytes limit) {
  const AttentionShape& s = f.shape;
  const auto layout = [](const AttentionLayout& at) {
    return fmt::format("{}.{}.{}", at.batch, at.head, at.row);
  };
  return fmt::format("{}{} {} {}x{}/{} {}x{} {} {} {} {} {} {} {} {}",
                     f.grad ? "attention_grad" : "attention", f.masked ? " masked" : "",
                     dtype_name(f.dtype), f.batches, s.heads, s.group, s.queries, s.keys, s.size,
                     s.causal, s.scale, layout(s.q), layout(s.k), layout(s.v), layout(s.y), limit);
}

/// Array `from`, `elements` further.
void* at(const void* from, std::int64_t elements, DType dtype) {
  return static_cast<std::byte*>(const_cast<void*>(from)) +
         elements * static_cast<std::int64_t>(dtype_size(dtype));
}

}  // namespace

std::optional<FusedAttention> fuse_attention(FusedAttention wanted, Bytes limit) {
  wanted.key = key_of(wanted, limit);
  const auto libraries = Libraries::current();
  const auto plan = libraries->plan(wanted.key, [&](cudnnHandle_t handle) {
    return make_plan(wanted, *libraries, handle, limit);
  });
  if (plan == nullptr) return std::nullopt;
  wanted.workspace = plan->workspace;
  return wanted;
}

void run_fused_attention(const FusedAttention& fused, const AttentionArrays& arrays,
                         void* workspace, cudaStream_t stream) {
  const AttentionShape& s = fused.shape;
  const auto libraries = Libraries::current();
  // Another device than the one it was prepared on makes a plan of its own.
  const auto plan = libraries->plan(fused.key, [&](cudnnHandle_t handle) {
    return make_plan(fused, *libraries, handle, fused.workspace);
  });
  if (plan == nullptr || plan->workspace > fused.workspace) {
    throw DeviceError("[attention] was prepared for another kind of device");
  }
  const auto& graph = static_cast<const SdpaPlan&>(*plan).graph;
  for (std::int64_t b = 0; b < s.batches; b += fused.batches) {
    const auto array = [&](const void* from, const AttentionLayout& layout) {
      return at(from, layout.start + b * layout.batch, fused.dtype);
    };
    std::unordered_map<std::int64_t, void*> pack = {
        {kQ, array(arrays.q, s.q)},
        {kK, array(arrays.k, s.k)},
        {kV, array(arrays.v, s.v)},
        {kY, array(arrays.y, s.y)},
        {kLogSums, at(arrays.log_sums, b * s.heads * s.queries, DType::f32)}};
    if (fused.grad) {
      pack.insert({{kDy, array(arrays.dy, s.y)},
                   {kDq, array(arrays.dq, s.q)},
                   {kDk, array(arrays.dk, s.k)},
                   {kDv, array(arrays.dv, s.v)}});
    }
    if (fused.masked) {
      pack.insert({{kQueryLengths, at(arrays.query_lengths, b, DType::i32)},
                   {kKeyLengths, at(arrays.key_lengths, b, DType::i32)}});
    }
    libraries->with_cudnn(stream, [&](cudnnHandle_t handle) {
      run_graph(graph, handle, pack, workspace, "attention");
    });
    const auto written = [&](Uid uid, std::int64_t heads, std::int64_t tokens,
                             const AttentionLayout& at) {
      const std::int64_t span =
          (fused.batches - 1) * at.batch + (heads - 1) * at.head + (tokens - 1) * at.row + s.size;
      nvtx::written(pack.at(uid), static_cast<std::size_t>(span) * dtype_size(fused.dtype), stream);
    };
    if (fused.grad) {
      written(kDq, s.heads, s.queries, s.q);
      written(kDk, s.key_heads(), s.keys, s.k);
      written(kDv, s.key_heads(), s.keys, s.v);
    } else {
      written(kY, s.heads, s.queries, s.y);
      nvtx::written(pack.at(kLogSums),
                    static_cast<std::size_t>(fused.batches * s.heads * s.queries) * sizeof(float),
                    stream);
    }
  }
}

}  // namespace plimsoll::cuda

#else

#include <plimsoll/base/error.h>

namespace plimsoll::cuda {

std::optional<FusedAttention> fuse_attention(FusedAttention, Bytes) { return std::nullopt; }
void run_fused_attention(const FusedAttention&, const AttentionArrays&, void*, cudaStream_t) {
  throw InternalError("[attention] there is no cuDNN");
}

}  // namespace plimsoll::cuda

#endif

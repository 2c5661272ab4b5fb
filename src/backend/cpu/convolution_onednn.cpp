// Convolutions by oneDNN. Pictures in NHWC are used as they are. For NCHW oneDNN is fast only in
// its blocked formats, so pictures are brought there and back in the workspace, some at a time:
// that costs a few percent and, as what is reordered stays in the cache, little time.
#include <algorithm>
#include <optional>
#include <string_view>

#include "backend/cpu/convolution.h"
#include "backend/cpu/onednn.h"

namespace plimsoll::cpu {

#if PLIMSOLL_HAS_ONEDNN
namespace {

using onednn::Desc;
using onednn::Dims;
using ops::ConvShape;
using Tag = dnnl::memory::format_tag;

/// Bytes of reordered pictures at a time.
constexpr Bytes kReorderedBytes = 16 << 20;
constexpr Bytes kAlignment = 256;

Bytes aligned(Bytes bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

dnnl::reorder::primitive_desc reorder_desc(const Desc& from, const Desc& to) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return {onednn::engine(), from, onednn::engine(), to, attributes};
}

/// One of x, w and y: as the caller has it, as the primitive wants it, and how to get there.
struct Operand {
  Desc outer;
  Desc inner;
  bool reordered = false;
  dnnl::reorder reorder;
  Desc scratch;
  Bytes offset = 0;  ///< of the inner one in the workspace
  int argument = 0;

  dnnl::memory outer_memory(void* data) const { return {outer, onednn::engine(), data}; }
  dnnl::memory inner_memory(void* data, void* workspace) const {
    return {inner, onednn::engine(),
            reordered ? static_cast<std::byte*>(workspace) + offset : data};
  }
};

/// The descriptors that a pass's primitive works with.
struct Choice {
  Desc x;
  Desc w;
  Desc y;
  Desc scratch;
  std::string_view name;
  dnnl::primitive primitive;
};

struct Layouts {
  Desc x;
  Desc w;
  Desc y;
};

onednn::Window window_of(const ConvShape& s) {
  return {{s.stride_down, s.stride_across},
          {s.dilation_down - 1, s.dilation_across - 1},
          {s.padding.top, s.padding.left},
          {s.padding.bottom, s.padding.right}};
}

/// Pictures as the caller has them or, if `any`, as oneDNN likes.
Layouts layouts_of(const ConvSpec& spec, std::int64_t n, bool any_picture, bool any_weight) {
  const ConvShape& s = spec.shape;
  const auto type = *onednn::data_type(spec.dtype);
  const Tag picture = any_picture ? Tag::any : s.nhwc ? Tag::nhwc : Tag::nchw;
  Dims w = {s.out_channels, s.in_channels, s.kernel_height, s.kernel_width};
  Tag weight = Tag::oihw;
  if (s.groups > 1) {
    w = {s.groups, s.out_channels / s.groups, s.in_channels / s.groups, s.kernel_height,
         s.kernel_width};
    weight = Tag::goihw;
  }
  // Gradients of weights are summed, and rounded once, when they are brought to the caller's form.
  const bool sums = spec.pass == ConvPass::by_weight && any_weight;
  return {{{n, s.in_channels, s.in_height, s.in_width}, type, picture},
          {w, sums ? dnnl::memory::data_type::f32 : type, any_weight ? Tag::any : weight},
          {{n, s.out_channels, s.out_height, s.out_width}, type, picture}};
}

std::optional<Choice> choose(const ConvSpec& spec, std::int64_t n, bool any_picture) {
  const Layouts l = layouts_of(spec, n, any_picture, true);
  const onednn::Window window = window_of(spec.shape);
  if (spec.pass == ConvPass::forward) {
    Desc bias;
    if (spec.bias) bias = {{spec.shape.out_channels}, *onednn::data_type(spec.dtype), Tag::a};
    auto d = onednn::convolution(l.x, l.w, bias, l.y, window);
    if (!d) return std::nullopt;
    return Choice{d->src_desc(),        d->weights_desc(),  d->dst_desc(),
                  d->scratchpad_desc(), d->impl_info_str(), dnnl::convolution_forward(*d)};
  }
  if (spec.pass == ConvPass::by_input) {
    auto d = onednn::convolution_by_input(l.x, l.w, l.y, window);
    if (!d) return std::nullopt;
    return Choice{d->diff_src_desc(),   d->weights_desc(),  d->diff_dst_desc(),
                  d->scratchpad_desc(), d->impl_info_str(), dnnl::convolution_backward_data(*d)};
  }
  auto d = onednn::convolution_by_weight(l.x, l.w, l.y, window);
  if (!d) return std::nullopt;
  return Choice{d->src_desc(),      d->diff_weights_desc(),
                d->diff_dst_desc(), d->scratchpad_desc(),
                d->impl_info_str(), dnnl::convolution_backward_weights(*d)};
}

class Conv final : public OnednnConv {
 public:
  Conv(const ConvSpec& spec, std::int64_t pictures, const Choice& choice)
      : spec_(spec),
        chunks_(spec.shape.n / pictures),
        primitive_(choice.primitive),
        scratch_desc_(choice.scratch),
        stream_(onednn::engine()) {
    const Layouts outer = layouts_of(spec, pictures, false, false);
    const ConvPass pass = spec.pass;
    x_.argument = pass == ConvPass::by_input ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC;
    w_.argument = pass == ConvPass::by_weight ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS;
    y_.argument = pass == ConvPass::forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST;
    Bytes scratch = choice.scratch.get_size();
    place(x_, outer.x, choice.x, pass == ConvPass::by_input, scratch);
    place(w_, outer.w, choice.w, pass == ConvPass::by_weight, scratch);
    place(y_, outer.y, choice.y, pass == ConvPass::forward, scratch);
    if (pass == ConvPass::by_weight && chunks_ > 1) {
      sums_ = bytes_;
      bytes_ += aligned(w_.inner.get_size());
    }
    scratch_ = bytes_;
    bytes_ += scratch;
  }

  Bytes workspace() const override { return bytes_; }

  void run(const ConvArguments& a) const override {
    auto* const workspace = static_cast<std::byte*>(a.workspace);
    const ConvPass pass = spec_.pass;
    if (pass != ConvPass::by_weight) bring_in(w_, a.w, workspace);
    for (std::int64_t i = 0; i < chunks_; ++i) {
      void* x = static_cast<std::byte*>(a.x) + static_cast<Bytes>(i) * x_.outer.get_size();
      void* y = static_cast<std::byte*>(a.y) + static_cast<Bytes>(i) * y_.outer.get_size();
      if (pass != ConvPass::by_input) bring_in(x_, x, workspace);
      if (pass != ConvPass::forward) bring_in(y_, y, workspace);
      std::unordered_map<int, dnnl::memory> args = {
          {x_.argument, x_.inner_memory(x, workspace)},
          {w_.argument, w_.inner_memory(a.w, workspace)},
          {y_.argument, y_.inner_memory(y, workspace)},
          {DNNL_ARG_SCRATCHPAD, {scratch_desc_, onednn::engine(), workspace + scratch_}}};
      if (spec_.bias) {
        const Desc bias({spec_.shape.out_channels}, *onednn::data_type(spec_.dtype), Tag::a);
        args.emplace(DNNL_ARG_BIAS,
                     dnnl::memory(bias, onednn::engine(), const_cast<void*>(a.bias)));
      }
      primitive_.execute(stream_, args);
      if (pass == ConvPass::by_input) bring_out(x_, x, workspace);
      if (pass == ConvPass::forward) bring_out(y_, y, workspace);
      if (sums_) add_weights(workspace, a.w, i == 0);
    }
    if (pass == ConvPass::by_weight) {
      if (sums_) {
        const dnnl::memory sums(w_.inner, onednn::engine(), workspace + *sums_);
        execute_reorder(w_, sums, w_.outer_memory(a.w), workspace);
      } else {
        bring_out(w_, a.w, workspace);
      }
    }
  }

 private:
  void place(Operand& operand, const Desc& outer, const Desc& inner, bool output, Bytes& scratch) {
    operand.outer = outer;
    operand.inner = inner;
    // Sums of several chunks are made in the inner form even where it is the caller's.
    const bool sums = operand.argument == DNNL_ARG_DIFF_WEIGHTS && chunks_ > 1;
    operand.reordered = sums || !onednn::same_layout(outer, inner);
    if (!operand.reordered) return;
    const auto desc = output ? reorder_desc(inner, outer) : reorder_desc(outer, inner);
    operand.reorder = dnnl::reorder(desc);
    operand.scratch = desc.scratchpad_desc();
    scratch = std::max<Bytes>(scratch, operand.scratch.get_size());
    operand.offset = bytes_;
    bytes_ += aligned(inner.get_size());
  }

  void execute_reorder(const Operand& operand, const dnnl::memory& from, const dnnl::memory& to,
                       std::byte* workspace) const {
    operand.reorder.execute(stream_, {{DNNL_ARG_FROM, from},
                                      {DNNL_ARG_TO, to},
                                      {DNNL_ARG_SCRATCHPAD,
                                       {operand.scratch, onednn::engine(), workspace + scratch_}}});
  }
  void bring_in(const Operand& operand, void* data, std::byte* workspace) const {
    if (!operand.reordered) return;
    execute_reorder(operand, operand.outer_memory(data), operand.inner_memory(data, workspace),
                    workspace);
  }
  void bring_out(const Operand& operand, void* data, std::byte* workspace) const {
    if (!operand.reordered) return;
    execute_reorder(operand, operand.inner_memory(data, workspace), operand.outer_memory(data),
                    workspace);
  }
  void add_weights(std::byte* workspace, void* w, bool first) const {
    auto* sums = reinterpret_cast<float*>(workspace + *sums_);
    const auto* part = static_cast<const float*>(w_.inner_memory(w, workspace).get_data_handle());
    const Bytes count = w_.inner.get_size() / sizeof(float);
    if (first) {
      std::copy_n(part, count, sums);
    } else {
      for (Bytes i = 0; i < count; ++i) sums[i] += part[i];
    }
  }

  ConvSpec spec_;
  std::int64_t chunks_;
  dnnl::primitive primitive_;
  Desc scratch_desc_;
  dnnl::stream stream_;
  Operand x_;
  Operand w_;
  Operand y_;
  std::optional<Bytes> sums_;
  Bytes scratch_ = 0;
  Bytes bytes_ = 0;
};

/// The largest number of pictures that divides all of them and whose copies stay within bounds.
std::int64_t pictures_at_a_time(const ConvSpec& spec) {
  const ConvShape& s = spec.shape;
  const std::int64_t elements = s.in_shape().elements() + s.out_shape().elements();
  const Bytes each = static_cast<Bytes>(elements / s.n) * dtype_size(spec.dtype);
  std::int64_t best = 1;
  for (std::int64_t count = 2; count <= s.n; ++count) {
    if (s.n % count == 0 && static_cast<Bytes>(count) * each <= kReorderedBytes) best = count;
  }
  return best;
}

bool slow(const Choice& choice) { return choice.name.starts_with("ref"); }

}  // namespace

std::unique_ptr<const OnednnConv> make_onednn_conv(const ConvSpec& spec) {
  const ConvShape& s = spec.shape;
  if (!onednn::data_type(spec.dtype)) return nullptr;
  if (s.in_shape().elements() == 0 || s.out_shape().elements() == 0 ||
      s.weight_shape().elements() == 0) {
    return nullptr;
  }
  if (s.nhwc) {
    const auto choice = choose(spec, s.n, false);
    if (choice && !slow(*choice)) return std::make_unique<Conv>(spec, s.n, *choice);
  }
  const std::int64_t pictures = pictures_at_a_time(spec);
  const auto choice = choose(spec, pictures, true);
  if (!choice || slow(*choice)) return nullptr;
  return std::make_unique<Conv>(spec, pictures, *choice);
}

#else

std::unique_ptr<const OnednnConv> make_onednn_conv(const ConvSpec&) { return nullptr; }

#endif

}  // namespace plimsoll::cpu

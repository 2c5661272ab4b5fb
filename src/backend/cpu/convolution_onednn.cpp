// Convolutions by oneDNN. Pictures in NHWC are used as they are. For NCHW oneDNN is fast only in
// its blocked formats, so pictures are brought there and back in the workspace, some at a time:
// that costs a few percent and, as what is reordered stays in the cache, little time.
#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/convolution_division.h"
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

Dims weight_dims(const ConvShape& s) {
  if (s.groups == 1) return {s.out_channels, s.in_channels, s.kernel_height, s.kernel_width};
  return {s.groups, s.out_channels / s.groups, s.in_channels / s.groups, s.kernel_height,
          s.kernel_width};
}

/// Some channels of pictures that have `all` of them.
Desc picture_desc(const Dims& dims, std::int64_t all, bool nhwc, dnnl::memory::data_type type) {
  const std::int64_t height = dims[2];
  const std::int64_t width = dims[3];
  return {dims, type,
          nhwc ? Dims{height * width * all, 1, width * all, all}
               : Dims{height * width * all, height * width, width, 1}};
}

/// The tensors of `part` as the caller has them, within those of the whole convolution.
Layouts outer_layouts(const ConvSpec& spec, const ConvShape& part) {
  const ConvShape& s = spec.shape;
  const auto type = *onednn::data_type(spec.dtype);
  const std::int64_t window = s.kernel_height * s.kernel_width;
  const std::int64_t depth = s.in_channels / s.groups * window;
  Dims steps = {depth, window, s.kernel_width, 1};
  if (part.groups > 1) steps.insert(steps.begin(), s.out_channels / s.groups * depth);
  return {picture_desc({part.n, part.in_channels, part.in_height, part.in_width}, s.in_channels,
                       s.nhwc, type),
          {weight_dims(part), type, steps},
          picture_desc({part.n, part.out_channels, part.out_height, part.out_width}, s.out_channels,
                       s.nhwc, type)};
}

std::optional<Choice> choose(const ConvSpec& spec, const ConvShape& s, bool any_picture) {
  const auto type = *onednn::data_type(spec.dtype);
  const Tag picture = any_picture ? Tag::any : s.nhwc ? Tag::nhwc : Tag::nchw;
  // Gradients of weights are summed, and rounded once, when they are brought to the caller's form.
  const bool sums = spec.pass == ConvPass::by_weight;
  const Desc x({s.n, s.in_channels, s.in_height, s.in_width}, type, picture);
  const Desc w(weight_dims(s), sums ? dnnl::memory::data_type::f32 : type, Tag::any);
  const Desc y({s.n, s.out_channels, s.out_height, s.out_width}, type, picture);
  const onednn::Window window = window_of(s);
  if (spec.pass == ConvPass::forward) {
    Desc bias;
    if (spec.bias) bias = {{s.out_channels}, type, Tag::a};
    auto d = onednn::convolution(x, w, bias, y, window);
    if (!d) return std::nullopt;
    return Choice{d->src_desc(),        d->weights_desc(),  d->dst_desc(),
                  d->scratchpad_desc(), d->impl_info_str(), dnnl::convolution_forward(*d)};
  }
  if (spec.pass == ConvPass::by_input) {
    auto d = onednn::convolution_by_input(x, w, y, window);
    if (!d) return std::nullopt;
    return Choice{d->diff_src_desc(),   d->weights_desc(),  d->diff_dst_desc(),
                  d->scratchpad_desc(), d->impl_info_str(), dnnl::convolution_backward_data(*d)};
  }
  auto d = onednn::convolution_by_weight(x, w, y, window);
  if (!d) return std::nullopt;
  return Choice{d->src_desc(),      d->diff_weights_desc(),
                d->diff_dst_desc(), d->scratchpad_desc(),
                d->impl_info_str(), dnnl::convolution_backward_weights(*d)};
}

/// One of x, w and y: as the caller has it, as the primitive wants it, and how to get there.
struct Operand {
  Desc outer;
  Desc inner;
  bool reordered = false;
  dnnl::reorder reorder;
  Desc scratch;
  int argument = 0;

  Operand() = default;
  Operand(const Desc& outside, const Desc& inside, bool output, bool always, int arg)
      : outer(outside),
        inner(inside),
        reordered(always || !onednn::same_layout(outer, inner)),
        argument(arg) {
    if (!reordered) return;
    const auto desc = output ? reorder_desc(inner, outer) : reorder_desc(outer, inner);
    reorder = dnnl::reorder(desc);
    scratch = desc.scratchpad_desc();
  }
  Bytes copy_bytes() const { return reordered ? aligned(inner.get_size()) : 0; }
  void bring(const dnnl::stream& stream, const Desc& from_desc, void* from, const Desc& to_desc,
             void* to, void* scratchpad) const {
    const dnnl::engine& engine = onednn::engine();
    onednn::execute(reorder, stream,
                    {{DNNL_ARG_FROM, {from_desc, engine, from}},
                     {DNNL_ARG_TO, {to_desc, engine, to}},
                     {DNNL_ARG_SCRATCHPAD, {scratch, engine, scratchpad}}});
  }
  void bring_in(const dnnl::stream& stream, void* from, void* to, void* scratchpad) const {
    bring(stream, outer, from, inner, to, scratchpad);
  }
  void bring_out(const dnnl::stream& stream, void* from, void* to, void* scratchpad) const {
    bring(stream, inner, from, outer, to, scratchpad);
  }
};

/// What computes parts of the same extents, in one thread.
struct ConvKernel {
  Operand x;
  Operand w;
  Operand y;
  dnnl::primitive primitive;
  Desc scratch;
  std::int64_t out_channels;

  /// Sums of several parts are made in the inner form even where it is the caller's.
  ConvKernel(const ConvSpec& spec, const ConvShape& part, const Choice& choice, bool several)
      : primitive(choice.primitive), scratch(choice.scratch), out_channels(part.out_channels) {
    const Layouts outer = outer_layouts(spec, part);
    const bool by_input = spec.pass == ConvPass::by_input;
    const bool by_weight = spec.pass == ConvPass::by_weight;
    const bool forward = spec.pass == ConvPass::forward;
    x = Operand(outer.x, choice.x, by_input, false, by_input ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC);
    w = Operand(outer.w, choice.w, by_weight, by_weight && several,
                by_weight ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS);
    y = Operand(outer.y, choice.y, forward, false, forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST);
  }
  Bytes scratch_bytes() const {
    return aligned(std::max(
        {scratch.get_size(), x.scratch.get_size(), w.scratch.get_size(), y.scratch.get_size()}));
  }
};

class Conv final : public OnednnConv {
 public:
  /// Null if oneDNN has nothing but a plain loop for some part, or describes what it cannot
  /// generate: extents beyond its offsets, say.
  static std::unique_ptr<const OnednnConv> make(const ConvSpec& spec, int threads,
                                                bool any_picture) {
    try {
      auto conv = std::make_unique<Conv>(spec, threads, any_picture);
      if (conv->kernels_.empty()) return nullptr;
      return conv;
    } catch (const dnnl::error& error) {
      if (error.status == dnnl_out_of_memory) throw;
      return nullptr;
    }
  }

  Conv(const ConvSpec& spec, int threads, bool any_picture)
      : spec_(spec),
        threads_(threads),
        division_(ConvDivision::of(spec, threads, any_picture ? kReorderedBytes : 0)),
        stream_(onednn::engine()) {
    for (std::int64_t c = 0; c < division_.channels; ++c) {
      for (std::int64_t i = 0; i < division_.spans(); ++i) {
        if (add_kernel(c, i, any_picture)) continue;
        kernels_.clear();
        return;
      }
    }
    lay_out();
  }

  Bytes workspace() const override { return bytes_; }

  void run(const ConvArguments& a) const override {
    if (spec_.pass == ConvPass::by_weight) return run_by_weight(a);
    const std::int64_t spans = division_.spans();
    if (spans > 1 && weight_bytes_ > 0) {
      parallel_tasks(division_.channels, threads_,
                     [&](std::int64_t c, int slot) { bring_weights(a, c, slot); });
    }
    parallel_tasks(spans * division_.channels, threads_, [&](std::int64_t task, int slot) {
      const std::int64_t c = task / spans;
      if (spans == 1 && weight_bytes_ > 0) bring_weights(a, c, slot);
      run_span(a, c, task % spans, slot, nullptr);
    });
  }

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;

  bool add_kernel(std::int64_t channel_part, std::int64_t span, bool any_picture) {
    const Key key = key_of(channel_part, span);
    if (kernels_.contains(key)) return true;
    const ConvShape part = part_shape(spec_, key.first, key.second);
    const auto choice = choose(spec_, part, any_picture);
    if (!choice || choice->name.starts_with("ref")) return false;
    kernels_.emplace(key, ConvKernel(spec_, part, *choice, division_.spans() > 1));
    return true;
  }
  Key key_of(std::int64_t channel_part, std::int64_t span) const {
    return {division_.span(spec_, span).size, division_.channel_part(spec_, channel_part).size};
  }
  const ConvKernel& kernel(std::int64_t channel_part, std::int64_t span) const {
    return kernels_.at(key_of(channel_part, span));
  }

  /// First what threads share, weights or sums of them, then a slot for each thread.
  void lay_out() {
    for (const auto& [key, k] : kernels_) {
      weight_bytes_ = std::max(weight_bytes_, k.w.copy_bytes());
      slot_.y = std::max(slot_.y, k.x.copy_bytes());
      slot_.w = std::max(slot_.w, k.y.copy_bytes());
      scratch_bytes_ = std::max(scratch_bytes_, k.scratch_bytes());
    }
    const bool by_weight = spec_.pass == ConvPass::by_weight;
    slots_ = weight_bytes_ * static_cast<Bytes>(by_weight ? division_.parts() : division_.channels);
    slot_.w += slot_.y;
    slot_.scratch = slot_.w + (by_weight && division_.chunks > 1 ? weight_bytes_ : 0);
    slot_bytes_ = slot_.scratch + scratch_bytes_;
    const std::int64_t tasks =
        by_weight ? division_.parts() : division_.spans() * division_.channels;
    bytes_ = slots_ + slot_bytes_ * static_cast<Bytes>(std::min<std::int64_t>(threads_, tasks));
  }
  std::byte* slot_at(const ConvArguments& a, int slot) const {
    return static_cast<std::byte*>(a.workspace) + slots_ + slot_bytes_ * static_cast<Bytes>(slot);
  }
  std::byte* weights_at(const ConvArguments& a, std::int64_t part) const {
    return static_cast<std::byte*>(a.workspace) + weight_bytes_ * static_cast<Bytes>(part);
  }
  ConvOffsets offsets(std::int64_t channel_part, std::int64_t span) const {
    return part_offsets(spec_, division_.span(spec_, span).begin,
                        division_.channel_part(spec_, channel_part).begin);
  }
  std::byte* at(const void* data, std::int64_t element) const {
    return static_cast<std::byte*>(const_cast<void*>(data)) +
           element * static_cast<std::int64_t>(dtype_size(spec_.dtype));
  }

  void bring_weights(const ConvArguments& a, std::int64_t c, int slot) const {
    const LibraryScope library;
    kernel(c, 0).w.bring_in(stream_, at(a.w, offsets(c, 0).w), weights_at(a, c),
                            slot_at(a, slot) + slot_.scratch);
  }

  /// One primitive on one chunk of pictures. `sums` is where a weight's gradient goes.
  void run_span(const ConvArguments& a, std::int64_t c, std::int64_t span, int slot,
                void* sums) const {
    const LibraryScope library;
    const ConvKernel& k = kernel(c, span);
    const ConvOffsets offset = offsets(c, span);
    std::byte* const copies = slot_at(a, slot);
    std::byte* const scratch = copies + slot_.scratch;
    std::byte* const x = at(a.x, offset.x);
    std::byte* const y = at(a.y, offset.y);
    std::byte* const x_inner = k.x.reordered ? copies : x;
    std::byte* const y_inner = k.y.reordered ? copies + slot_.y : y;
    void* w = at(a.w, offset.w);
    if (k.w.reordered) w = sums != nullptr ? sums : weights_at(a, c);
    if (k.x.reordered && spec_.pass != ConvPass::by_input) {
      k.x.bring_in(stream_, x, x_inner, scratch);
    }
    if (k.y.reordered && spec_.pass != ConvPass::forward) {
      k.y.bring_in(stream_, y, y_inner, scratch);
    }
    const dnnl::engine& engine = onednn::engine();
    std::unordered_map<int, dnnl::memory> args = {
        {k.x.argument, {k.x.inner, engine, x_inner}},
        {k.w.argument, {k.w.inner, engine, w}},
        {k.y.argument, {k.y.inner, engine, y_inner}},
        {DNNL_ARG_SCRATCHPAD, {k.scratch, engine, scratch}}};
    if (spec_.bias) {
      const Desc bias({k.out_channels}, *onednn::data_type(spec_.dtype), Tag::a);
      args.emplace(DNNL_ARG_BIAS, dnnl::memory(bias, engine, at(a.bias, offset.bias)));
    }
    onednn::execute(k.primitive, stream_, args);
    if (k.x.reordered && spec_.pass == ConvPass::by_input) {
      k.x.bring_out(stream_, x_inner, x, scratch);
    }
    if (k.y.reordered && spec_.pass == ConvPass::forward) {
      k.y.bring_out(stream_, y_inner, y, scratch);
    }
  }

  /// Each part sums over its chunks; then parts of the pictures are added in their order.
  void run_by_weight(const ConvArguments& a) const {
    const std::int64_t parts = division_.parts();
    parallel_tasks(parts, threads_, [&](std::int64_t part, int slot) {
      const std::int64_t c = part / division_.pictures;
      const std::int64_t first = part % division_.pictures * division_.chunks;
      auto* const sums = reinterpret_cast<float*>(weights_at(a, part));
      auto* const next = reinterpret_cast<float*>(slot_at(a, slot) + slot_.w);
      run_span(a, c, first, slot, sums);
      for (std::int64_t i = 1; i < division_.chunks; ++i) {
        run_span(a, c, first + i, slot, next);
        add(sums, next, 0, elements(c));
      }
      if (division_.pictures == 1 && weight_bytes_ > 0) bring_sums(a, c, slot);
    });
    if (division_.pictures == 1) return;
    for (std::int64_t c = 0; c < division_.channels; ++c) {
      const std::int64_t first = c * division_.pictures;
      auto* const sums = reinterpret_cast<float*>(weights_at(a, first));
      parallel_for(elements(c), 32768, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t p = 1; p < division_.pictures; ++p) {
          add(sums, reinterpret_cast<const float*>(weights_at(a, first + p)), begin, end);
        }
      });
    }
    parallel_tasks(division_.channels, threads_,
                   [&](std::int64_t c, int slot) { bring_sums(a, c, slot); });
  }
  void bring_sums(const ConvArguments& a, std::int64_t c, int slot) const {
    const LibraryScope library;
    const Operand& w = kernel(c, 0).w;
    if (!w.reordered) return;
    w.bring_out(stream_, weights_at(a, c * division_.pictures), at(a.w, offsets(c, 0).w),
                slot_at(a, slot) + slot_.scratch);
  }
  std::int64_t elements(std::int64_t c) const {
    return static_cast<std::int64_t>(kernel(c, 0).w.inner.get_size() / sizeof(float));
  }
  static void add(float* sums, const float* more, std::int64_t begin, std::int64_t end) {
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) sums[i] += more[i];
  }

  /// Offsets in a slot; the copy of x is at 0.
  struct Slot {
    Bytes y = 0;
    Bytes w = 0;
    Bytes scratch = 0;
  };

  ConvSpec spec_;
  int threads_;
  ConvDivision division_;
  dnnl::stream stream_;
  std::map<Key, ConvKernel> kernels_;
  Bytes weight_bytes_ = 0;  ///< of a part
  Bytes scratch_bytes_ = 0;
  Bytes slots_ = 0;  ///< where they begin
  Slot slot_;
  Bytes slot_bytes_ = 0;
  Bytes bytes_ = 0;
};

}  // namespace

std::unique_ptr<const OnednnConv> make_onednn_conv(const ConvSpec& spec, int threads) {
  const ConvShape& s = spec.shape;
  if (!onednn::data_type(spec.dtype)) return nullptr;
  if (s.in_shape().elements() == 0 || s.out_shape().elements() == 0 ||
      s.weight_shape().elements() == 0) {
    return nullptr;
  }
  const LibraryScope library;
  // With few channels, blocks of 16 would be mostly padding; oneDNN's product of plain pictures is
  // faster.
  const bool few = spec.pass == ConvPass::by_input && s.groups == 1 && s.in_channels <= 4;
  if (s.nhwc || few) {
    if (auto conv = Conv::make(spec, threads, false)) return conv;
  }
  return Conv::make(spec, threads, true);
}

#else

std::unique_ptr<const OnednnConv> make_onednn_conv(const ConvSpec&, int) { return nullptr; }

#endif

}  // namespace plimsoll::cpu

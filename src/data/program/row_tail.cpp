#include "data/program/row_tail.h"

#include <algorithm>
#include <cstring>

#include <plimsoll/data/image/clones.h>

#include "data/program/infer.h"
#include "data/program/op.h"

namespace plimsoll::data {
namespace {

/// Elements of a strip of rows, about: as f32, what the caches next to a core hold beside the rest.
constexpr std::int64_t kStripElements = 8192;
constexpr Bytes kAlignment = 64;

template <typename T>
PLIMSOLL_PICTURE_CLONES void split_channel(T* to, const T* from, std::int64_t count,
                                           std::int64_t channels) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * channels];
}

/// Pixels at `from` to the planes that begin at `to`, `plane` elements each.
template <typename T>
void split(void* to, const void* from, std::int64_t count, std::int64_t channels,
           std::int64_t plane) {
  for (std::int64_t c = 0; c < channels; ++c) {
    split_channel(static_cast<T*>(to) + c * plane, static_cast<const T*>(from) + c, count,
                  channels);
  }
}

/// A number added and a cast to u8, which is how pictures are rounded to bytes, in one loop: the
/// arithmetic of their kernels.
PLIMSOLL_PICTURE_CLONES void add_to_bytes(std::uint8_t* to, const float* from, std::int64_t count,
                                          float number) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float x = from[i] + number;
    const float above = x > 0.0F ? x : 0.0F;  // where a NaN goes, too
    to[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(above < 255.0F ? above : 255.0F));
  }
}

bool writes_over_first(const ops::OpDef& def) {
  return std::ranges::any_of(
      def.in_place, [](const ops::InPlace& each) { return each.output == 0 && each.input == 0; });
}

}  // namespace

bool is_by_element(const Instruction& instruction, const Program::Parts& parts,
                   std::int64_t channels, bool planes) {
  const ops::OpDef* const def = ops::find_op(instruction.op);
  if (def == nullptr || def->channels.rule != ops::ChannelRule::pointwise || def->random ||
      def->view || def->writes != 0 || instruction.outputs.size() != 1 ||
      instruction.attributes.has("shape") || is_open(*def, instruction.attributes)) {
    return false;
  }
  const ops::Kernel* const kernel = ops::kernels_of("cpu").find(*def);
  if (kernel == nullptr || kernel->prepare != nullptr) return false;
  return std::ranges::all_of(std::span(instruction.inputs).subspan(1), [&](const Operand& each) {
    if (!each.is_constant) return false;
    const ProgramConstant& constant = parts.constants[static_cast<std::size_t>(each.index)];
    if (constant.dtype == DType::bytes) return false;
    return constant.shape.rank() == 0 || (!planes && constant.shape == Shape{channels});
  });
}

RowTail::RowTail(const std::vector<std::size_t>& instructions, const Program::Parts& parts,
                 int height, int width, int channels, bool planes)
    : parts_(&parts), height_(height), width_(width), channels_(channels), planes_(planes) {
  const std::int64_t row = width_ * channels_;
  rows_ = static_cast<int>(std::clamp<std::int64_t>(kStripElements / row, 1, height_));
  const auto room = [&](DType dtype) {
    return align_up(static_cast<Bytes>(row * rows_) * dtype_size(dtype), kAlignment);
  };
  Bytes buffer = 0;
  scratch_ = room(DType::f32);
  DType dtype = DType::f32;
  for (const std::size_t i : instructions) {
    const Instruction& each = parts.instructions[i];
    const ops::OpDef& def = *ops::find_op(each.op);
    Call call{ops::kernels_of("cpu").find(def), &each, each.outputs.front().dtype, buffer};
    if (call.to != dtype || !writes_over_first(def)) {
      call.buffer = buffer = scratch_;
      scratch_ += room(call.to);
    }
    dtype = call.to;
    calls_.push_back(call);
  }
  find_bytes();
}

void RowTail::find_bytes() {
  if (calls_.size() != 2 || planes_) return;
  const Instruction& add = *calls_[0].instruction;
  if (add.op != "add" || add.inputs.size() != 2 || calls_[0].to != DType::f32) return;
  if (calls_[1].instruction->op != "cast" || calls_[1].to != DType::u8) return;
  const auto& constant = parts_->constants[static_cast<std::size_t>(add.inputs[1].index)];
  if (constant.dtype != DType::f32 || constant.shape.rank() != 0) return;
  float number = 0;
  std::memcpy(&number, constant.data.data(), sizeof number);
  added_to_bytes_ = number;
}

void RowTail::take(int first, int made, std::byte* buffers, void* out) const {
  const Shape shape{made, width_, channels_};
  const std::int64_t pixels = made * width_;
  const std::int64_t before = first * width_;
  if (added_to_bytes_) {
    add_to_bytes(static_cast<std::uint8_t*>(out) + before * channels_,
                 reinterpret_cast<const float*>(buffers), pixels * channels_, *added_to_bytes_);
    return;
  }
  ops::TensorView rows{buffers, {DType::f32, shape}};
  std::vector<ops::TensorView> inputs;
  for (const Call& call : calls_) {
    inputs.assign(1, rows);
    for (const Operand& operand : std::span(call.instruction->inputs).subspan(1)) {
      const ProgramInput constant(parts_->constants[static_cast<std::size_t>(operand.index)]);
      inputs.push_back({const_cast<void*>(constant.data()), constant.type()});
    }
    void* to = buffers + call.buffer;
    if (&call == &calls_.back() && !planes_) {
      to = static_cast<std::byte*>(out) +
           static_cast<Bytes>(before * channels_) * dtype_size(call.to);
    }
    rows = {to, {call.to, shape}};
    call.kernel->run(
        {.outputs = {&rows, 1}, .inputs = inputs, .attributes = call.instruction->attributes});
  }
  if (!planes_) return;
  const std::int64_t plane = height_ * width_;
  auto* const to = static_cast<std::byte*>(out) + static_cast<Bytes>(before) * dtype_size(dtype());
  switch (dtype_size(dtype())) {
    case 1:
      return split<std::uint8_t>(to, rows.data, pixels, channels_, plane);
    case 2:
      return split<std::uint16_t>(to, rows.data, pixels, channels_, plane);
    case 4:
      return split<std::uint32_t>(to, rows.data, pixels, channels_, plane);
    default:
      return split<std::uint64_t>(to, rows.data, pixels, channels_, plane);
  }
}

}  // namespace plimsoll::data

// RandAugment: some changes of a list of fourteen, drawn for each picture; and each by its name.
#include <algorithm>

#include <fmt/format.h>

#include "data/program/colours.h"
#include "data/program/picture.h"
#include "data/program/rand_augment.h"

namespace plimsoll::data::program_ops {
namespace {

std::vector<TensorSpec> rand_augment_specs(const SpecInputs& inputs) {
  const auto& dims = inputs.require_picture(0);
  if (dims[2] != 1 && dims[2] != 3) inputs.fail("takes images of 1 or 3 channels");
  return {inputs[0]};
}

/// work(canvas) on the picture.
template <class Work>
void changed(ProgramCall& call, const Work& work) {
  const ProgramInput& from = call.input(0);
  Tensor to = call.output(from.shape(), from.dtype());
  Tensor other = call.context().empty(from.shape(), DType::f32);
  FloatPicture floats(from, call.context().scratch(), to);
  const bool whole = from.dtype() == DType::u8;
  work(Canvas{floats.data(), other.mutable_data<float>(), extent_of(from.shape()), whole,
              whole ? 255.0 : call.attributes().number("most")});
  floats.write(to);
}

AugmentKind kind_of(const SpecInputs& inputs) {
  const std::string name = inputs.attributes().text("kind");
  std::string names;
  for (int i = 0; i < kAugmentKinds; ++i) {
    const auto kind = static_cast<AugmentKind>(i);
    if (name == augment_name(kind)) return kind;
    names += fmt::format("{}{}", i == 0 ? "" : ", ", augment_name(kind));
  }
  inputs.fail(fmt::format("there is no change \"{}\"; use one of {}", name, names));
}

AugmentKind kind_of(const ProgramCall& call) {
  const std::string name = call.attributes().text("kind");
  int i = 0;
  while (augment_name(static_cast<AugmentKind>(i)) != name) ++i;
  return static_cast<AugmentKind>(i);
}

void drawn_op(const ProgramCall& call, const Canvas& canvas) {
  const auto count = static_cast<std::uint32_t>(call.attributes().integer("count"));
  const auto level = static_cast<int>(call.attributes().integer("level"));
  const auto bins = static_cast<int>(call.attributes().integer("bins"));
  for (std::uint32_t i = 0; i < count; ++i) {
    const Philox::Counter words = call.random(i);
    const auto kind = static_cast<AugmentKind>(Philox::below(words[0], kAugmentKinds));
    const double magnitude = augment_magnitude(kind, level, bins, canvas.extent);
    augment(canvas, kind, is_signed(kind) && words[1] % 2 == 0 ? -magnitude : magnitude);
  }
}

std::vector<TensorSpec> rand_augment_drawn_specs(const SpecInputs& inputs) {
  const std::int64_t bins = inputs.require_positive("bins");
  const std::int64_t level = inputs.attributes().integer("level");
  const std::int64_t count = inputs.attributes().integer("count");
  if (level < 0 || level >= bins) {
    inputs.fail(fmt::format("level is {}; give 0 to {}", level, bins - 1));
  }
  if (count < 0 || count > 100) inputs.fail(fmt::format("count is {}; give 0 to 100", count));
  return rand_augment_specs(inputs);
}

}  // namespace

std::span<const ProgramOp> rand_augment() {
  static constexpr ProgramOp kOps[] = {
      {.name = "augment",
       .summary = "one of RandAugment's changes",
       .specs =
           [](const SpecInputs& inputs) {
             const AugmentKind kind = kind_of(inputs);
             const double magnitude = inputs.attributes().number("magnitude");
             if (kind == AugmentKind::posterize && !(magnitude >= 0 && magnitude <= 8)) {
               inputs.fail(fmt::format("{} bits; give 0 to 8", magnitude));
             }
             return rand_augment_specs(inputs);
           },
       .run =
           [](ProgramCall& call) {
             const double magnitude = call.attributes().number("magnitude");
             changed(call,
                     [&](const Canvas& canvas) { augment(canvas, kind_of(call), magnitude); });
           }},
      {.name = "adjust_sharpness",
       .summary = "away from a smoothed image",
       .specs = rand_augment_specs,
       .run =
           [](ProgramCall& call) {
             const double factor = call.attributes().number("amount");
             changed(call, [&](const Canvas& canvas) { change_sharpness(canvas, factor); });
           }},
      {.name = "rand_augment",
       .summary = "some of RandAugment's changes, drawn",
       .random = true,
       .specs = rand_augment_drawn_specs,
       .run =
           [](ProgramCall& call) {
             changed(call, [&](const Canvas& canvas) { drawn_op(call, canvas); });
           }},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops

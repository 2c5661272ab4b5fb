#include "data/program/load_options.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll::data {
namespace {

constexpr std::array<std::string_view, 4> kFilters = {"nearest", "bilinear", "bicubic", "area"};

void copy_numbers(std::array<float, 4>& to, const ProgramConstant& from) {
  std::memcpy(to.data(), from.data.data(), std::min(sizeof(to), from.data.size()));
}

}  // namespace

image::Filter filter_of(std::string_view name) {
  const auto* const found = std::ranges::find(kFilters, name);
  if (found == kFilters.end()) {
    throw InvalidArgument(fmt::format(
        "[resize] there is no filter \"{}\"; use nearest, bilinear, bicubic or area", name));
  }
  return static_cast<image::Filter>(found - kFilters.begin());
}

std::string_view filter_name(image::Filter filter) {
  return kFilters[static_cast<std::size_t>(filter)];
}

image::DecodeOptions decode_options(const ops::Attributes& attributes) {
  return {.channels = static_cast<int>(attributes.integer("channels")),
          .dct = attributes.text("dct") == "accurate" ? image::Dct::accurate : image::Dct::fast,
          .apply_orientation = attributes.flag("apply_orientation")};
}

image::ResizeOptions resize_options(const ops::Attributes& attributes) {
  return {.filter = filter_of(attributes.text("filter")),
          .antialias = attributes.flag("antialias")};
}

CropRange crop_range(const ops::Attributes& attributes) {
  return {.scale_low = attributes.number("scale_low"),
          .scale_high = attributes.number("scale_high"),
          .ratio_low = attributes.number("ratio_low"),
          .ratio_high = attributes.number("ratio_high")};
}

ChainOptions load_options(const LoadChain& chain, const Program::Parts& parts) {
  ChainOptions options;
  options.load.normalise = false;
  for (const std::size_t i : chain.instructions) {
    if (!chain.loads(i)) continue;
    const Instruction& each = parts.instructions[i];
    if (each.op == "decode_image") {
      options.decode = decode_options(each.attributes);
      options.load.channels = options.decode.channels;
      options.load.dct = options.decode.dct;
    } else if (each.op == "resize" || each.op == "random_resized_crop") {
      options.load.height = static_cast<int>(each.attributes.integer("height"));
      options.load.width = static_cast<int>(each.attributes.integer("width"));
      options.load.resize = resize_options(each.attributes);
    } else if (each.op == "cast") {
      options.load.exact = true;
    } else if (each.op == "normalize") {
      options.load.normalise = true;
      copy_numbers(options.load.mean,
                   parts.constants[static_cast<std::size_t>(each.inputs[1].index)]);
      copy_numbers(options.load.deviation,
                   parts.constants[static_cast<std::size_t>(each.inputs[2].index)]);
    } else if (each.op == "flip_left_right") {
      options.load.flip = true;
    } else if (each.op == "transpose") {
      options.load.layout = Layout::channels_first;
    }
  }
  return options;
}

}  // namespace plimsoll::data

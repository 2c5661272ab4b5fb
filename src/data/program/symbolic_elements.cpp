// Program ops as functions of symbolic values: files, pictures, byte strings.
#include <plimsoll/data/program_ops.h>

#include "data/program/load_options.h"
#include "data/program/recorder.h"

namespace plimsoll {
namespace {

using data::Symbolic;

Symbolic element_op(std::string_view op, std::initializer_list<Symbolic> inputs,
                    const ops::Attributes& attributes = {}) {
  const std::span<const Symbolic> all(inputs.begin(), inputs.size());
  return data::record(all.front().recorder(), op, all, attributes).front();
}

std::int64_t whole(int number) { return number; }

}  // namespace

namespace data {

Symbolic read_file(const Symbolic& path) { return element_op("read_file", {path}); }
Symbolic decode_raw(const Symbolic& bytes, DType dtype) {
  return element_op("decode_raw", {bytes}, {{"dtype", dtype}});
}

}  // namespace data

namespace image {

Symbolic decode(const Symbolic& bytes, const DecodeOptions& options) {
  return element_op("decode_image", {bytes},
                    {{"channels", whole(options.channels)},
                     {"dct", std::string(options.dct == Dct::fast ? "fast" : "accurate")},
                     {"apply_orientation", options.apply_orientation}});
}

Symbolic resize(const Symbolic& picture, int height, int width, const ResizeOptions& options) {
  return element_op("resize", {picture},
                    {{"height", whole(height)},
                     {"width", whole(width)},
                     {"filter", std::string(data::filter_name(options.filter))},
                     {"antialias", options.antialias}});
}

Symbolic crop(const Symbolic& picture, int y, int x, int height, int width) {
  return element_op(
      "crop", {picture},
      {{"y", whole(y)}, {"x", whole(x)}, {"height", whole(height)}, {"width", whole(width)}});
}

Symbolic center_crop(const Symbolic& picture, int height, int width) {
  return element_op("center_crop", {picture}, {{"height", whole(height)}, {"width", whole(width)}});
}

Symbolic flip_left_right(const Symbolic& picture) {
  return element_op("flip_left_right", {picture});
}
Symbolic flip_up_down(const Symbolic& picture) { return element_op("flip_up_down", {picture}); }

Symbolic normalize(const Symbolic& picture, const std::vector<float>& mean,
                   const std::vector<float>& deviation) {
  return element_op("normalize", {picture, data::constant_like(picture, mean),
                                  data::constant_like(picture, deviation)});
}

Symbolic to_unit(const Symbolic& picture) {
  const auto channels = static_cast<std::size_t>(picture.dim(-1));
  return normalize(picture, std::vector<float>(channels, 0.0F), std::vector<float>(channels, 1.0F));
}

Symbolic random_flip(const Symbolic& picture, double probability) {
  return element_op("random_flip", {picture}, {{"probability", probability}});
}

Symbolic random_crop(const Symbolic& picture, int height, int width) {
  return element_op("random_crop", {picture}, {{"height", whole(height)}, {"width", whole(width)}});
}

}  // namespace image

namespace strings {

Symbolic lower(const Symbolic& text) { return element_op("lower", {text}); }
Symbolic upper(const Symbolic& text) { return element_op("upper", {text}); }
Symbolic strip(const Symbolic& text) { return element_op("strip", {text}); }
Symbolic length(const Symbolic& text) { return element_op("length", {text}); }
Symbolic substr(const Symbolic& text, std::int64_t begin, std::int64_t count) {
  return element_op("substr", {text}, {{"begin", begin}, {"count", count}});
}
Symbolic contains(const Symbolic& text, const std::string& part) {
  return element_op("contains", {text}, {{"part", part}});
}
Symbolic starts_with(const Symbolic& text, const std::string& part) {
  return element_op("starts_with", {text}, {{"part", part}});
}
Symbolic ends_with(const Symbolic& text, const std::string& part) {
  return element_op("ends_with", {text}, {{"part", part}});
}
Symbolic equals(const Symbolic& text, const std::string& other) {
  return element_op("equals", {text}, {{"part", other}});
}
Symbolic replace(const Symbolic& text, const std::string& part, const std::string& with) {
  return element_op("replace", {text}, {{"part", part}, {"with", with}});
}
Symbolic split(const Symbolic& text, const std::string& separator) {
  return element_op("split_text", {text}, {{"separator", separator}});
}
Symbolic join(const Symbolic& texts, const std::string& separator) {
  return element_op("join", {texts}, {{"separator", separator}});
}
Symbolic to_number(const Symbolic& text, DType dtype) {
  return element_op("to_number", {text}, {{"dtype", dtype}});
}

}  // namespace strings
}  // namespace plimsoll
